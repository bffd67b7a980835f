#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bench/algorithm_choice.hpp"
#include "runtime/bench/bench_environment.hpp"
#include "runtime/bench/bench_options.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/bench/names.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using kernels::ReduceOp;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Environment with(const Environment::Variables& variables) {
  return Environment(variables);
}

std::string refusal(const BenchOptions& options, int ranks = 2) {
  return error_text(ErrorCode::invalid_argument, [&] { check_bench_options(options, ranks); });
}

TEST(BenchOptions, AreSoundByDefault) {
  EXPECT_NO_THROW(check_bench_options({.operations = {"all_reduce"}}, 1));
}

TEST(BenchOptions, RefuseWhatDoesNotGoTogether) {
  EXPECT_THAT(refusal({.root = 2}), HasSubstr("ranks 0 to 1"));
  EXPECT_THAT(refusal({.per_iteration_skip = 1}), HasSubstr("-K"));
  EXPECT_THAT(refusal({.iterations = 5, .per_iteration = true, .per_iteration_skip = 5}),
              HasSubstr("none of 5"));
  EXPECT_THAT(refusal({.operations = {"a", "b"}, .run_cycles = 0}), HasSubstr("-N 0"));
  EXPECT_THAT(refusal({.pairs = true}, 1), HasSubstr("--pairs"));
  EXPECT_THAT(refusal({.expect = true}, 1), HasSubstr("--expect"));
  EXPECT_THAT(refusal({.fit = true}), HasSubstr("three sizes"));
  EXPECT_THAT(refusal({.timestamps = true, .format = TextFormat::osu}), HasSubstr("osu"));
  EXPECT_THAT(refusal({.sizes = {.least = 9, .most = 8}}), HasSubstr("above the largest"));
}

TEST(BenchAlgorithms, AreThoseOfTheOperation) {
  EXPECT_NO_THROW(check_algorithms({.operations = {"all_reduce"}}, "shm"));
  for (const char* algorithm : {"ring", "auto", "all_reduce=tree;broadcast=chain"}) {
    EXPECT_NO_THROW(
        check_algorithms({.operations = {"all_reduce"}, .algorithm = algorithm}, "tcp"));
  }
  EXPECT_NO_THROW(
      check_algorithms({.operations = {"broadcast", "all_reduce"}, .algorithm = "ring"}, "auto"));

  const auto refused = [](std::string operation, std::string algorithm) {
    return error_text(ErrorCode::config, [&] {
      check_algorithms({.operations = {operation}, .algorithm = algorithm}, "tcp");
    });
  };
  EXPECT_THAT(refused("broadcast", "ring"),
              HasSubstr("broadcast has auto, binomial, chain, scatter_all_gather"));
  EXPECT_THAT(refused("alltoallv", "bruck"), HasSubstr("alltoallv has auto, pairwise"));
  EXPECT_THAT(refused("all_reduce", "broadcast=chain"), HasSubstr("all_reduce has auto, direct"));
  EXPECT_THAT(refused("all_reduce", "rnig"), HasSubstr("did you mean ring?"));
  EXPECT_THAT(refused("all_reduce", "all_reduc=ring"), HasSubstr("did you mean all_reduce?"));
}

TEST(BenchAlgorithms, NeedABackEndWithAChoice) {
  for (const char* backend : {"self", "shm", "mpi"}) {
    EXPECT_THAT(refusal({.operations = {"broadcast"}, .backend = backend, .algorithm = "chain"}),
                AllOf(HasSubstr(backend), HasSubstr("hierarchical and tcp have"),
                      HasSubstr("broadcast has auto, binomial, chain, scatter_all_gather")));
  }
}

TEST(BenchAlgorithms, ComeFromTheOptionOrTheEnvironmentNotFromBothUnlessEqual) {
  using collectives::CallKind;
  const BenchOptions none{.operations = {"all_reduce"}};
  const BenchOptions ring{.operations = {"all_reduce"}, .algorithm = "all_reduce=ring"};

  EXPECT_EQ(bench_algorithms(none, std::nullopt), collectives::AlgorithmTable());
  EXPECT_EQ(bench_algorithms(none, "tree").named(CallKind::all_reduce), "tree");
  EXPECT_EQ(bench_algorithms(ring, std::nullopt).named(CallKind::all_reduce), "ring");
  EXPECT_EQ(bench_algorithms(ring, "all_reduce=ring").named(CallKind::all_reduce), "ring");
  for (const char* other : {"all_reduce=tree", "ring", "auto"}) {
    EXPECT_THAT(
        error_text(ErrorCode::invalid_argument, [&] { bench_algorithms(ring, other); }),
        AllOf(HasSubstr("--algo \"all_reduce=ring\""), HasSubstr(other), HasSubstr("contradict")));
  }
  EXPECT_THAT(error_text(ErrorCode::config, [&] { bench_algorithms(none, "rnig"); }),
              HasSubstr("MUSTER_ALGO"));
}

TEST(NcclNames, OfTypesAreReadAndWritten) {
  for (const Dtype dtype : parse_nccl_types("all")) {
    EXPECT_THAT(parse_nccl_types(nccl_name(dtype)), ElementsAre(dtype));
  }
  EXPECT_EQ(parse_nccl_types("all").size(), 8);
  EXPECT_EQ(nccl_name(Dtype::bf16), "bfloat16");
}

TEST(NcclNames, OfReductionsAreRead) {
  EXPECT_THAT(parse_nccl_reductions("avg"), ElementsAre(ReduceOp::avg));
  EXPECT_EQ(parse_nccl_reductions("all").size(), 5);
}

TEST(NcclNames, ThatMusterLacksAreUnsupportedAndOthersUnknown) {
  EXPECT_THAT(error_text(ErrorCode::unsupported, [] { parse_nccl_types("f8e4m3"); }),
              HasSubstr("does not have it"));
  EXPECT_THAT(error_text(ErrorCode::unsupported, [] { parse_nccl_reductions("mulsum"); }),
              HasSubstr("does not have it"));
  EXPECT_THAT(error_text(ErrorCode::config, [] { parse_nccl_types("f32"); }),
              HasSubstr("bfloat16"));
}

TEST(BenchEnvironment, DemandsABandwidth) {
  EXPECT_EQ(least_bandwidth_of(with({})), -1.0);
  EXPECT_EQ(least_bandwidth_of(with({{"NCCL_TESTS_MIN_BW", "2.5"}})), 2.5);
  EXPECT_THAT(error_text(ErrorCode::config,
                         [] {
                           least_bandwidth_of(with({{"NCCL_TESTS_MIN_BW", "fast"}}));
                         }),
              HasSubstr("fast"));
}

TEST(BenchEnvironment, IsRefusedWhereItWouldChangeWhatIsMeasured) {
  EXPECT_THAT(error_text(ErrorCode::unsupported,
                         [] {
                           least_bandwidth_of(with({{"NCCL_TESTS_SPLIT", "MOD2"}}));
                         }),
              HasSubstr("NCCL_TESTS_SPLIT"));
}

TEST(BenchExitCodes, AreThoseOfNcclTests) {
  EXPECT_EQ(bench_exit_code_of(ErrorCode::config), 255);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::invalid_argument), 6);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::unsupported), 5);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::timeout), 4);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::internal), 1);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::io), 1);
  EXPECT_EQ(bench_exit_code_of(ErrorCode::peer_lost), 76);  // tells victims from culprits
}

}  // namespace
}  // namespace muster::runtime
