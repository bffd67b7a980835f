#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bench/bench_environment.hpp"
#include "runtime/bench/bench_options.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/bench/names.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using kernels::ReduceOp;
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
