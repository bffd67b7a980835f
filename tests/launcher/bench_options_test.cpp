#include "launcher/bench_options.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/options.hpp"
#include "tests/support/error_text.hpp"

namespace muster::launcher {
namespace {

using kernels::ReduceOp;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

Words bench(Words words) {
  words.insert(words.begin(), "bench");
  return words;
}

BenchCommand parse(const Words& words) {
  return std::get<BenchCommand>(parse_command(bench(words), "muster 1"));
}

std::string refusal(ErrorCode code, const Words& words) {
  return error_text(code, [&] { parse_command(bench(words), "muster 1"); });
}

TEST(BenchOptions, HaveTheDefaultsOfNcclTests) {
  const BenchCommand command = parse({"all_reduce"});
  const runtime::BenchOptions& options = command.options;

  EXPECT_FALSE(command.ranks);
  EXPECT_THAT(options.operations, ElementsAre("all_reduce"));
  EXPECT_EQ(options.sizes.least, 32 << 20);
  EXPECT_EQ(options.sizes.most, 32 << 20);
  EXPECT_EQ(options.sizes.step, 1 << 20);
  EXPECT_EQ(options.sizes.factor, 1);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.aggregated, 1);
  EXPECT_EQ(options.warmup, 1);
  EXPECT_EQ(options.run_cycles, 1);
  EXPECT_EQ(options.check_rounds, 1);
  EXPECT_THAT(options.reductions, ElementsAre(ReduceOp::sum));
  EXPECT_THAT(options.dtypes, ElementsAre(Dtype::f32));
  EXPECT_EQ(options.root, 0);
  EXPECT_EQ(options.averaging, runtime::Averaging::mean);
}

TEST(BenchOptions, AreReadInTheirShortForms) {
  const BenchCommand command =
      parse({"reduce_perf", "-g", "4",    "-b", "8",  "-e", "1.5K", "-i", "16", "-f",    "2",
             "-n",          "5",  "-m",   "2",  "-w", "0",  "-N",   "0",  "-c", "3",     "-o",
             "max",         "-d", "half", "-r", "-1", "-T", "9.5",  "-a", "3",  "-u",    "1",
             "-C",          "1",  "-S",   "1",  "-I", "1",  "-K",   "2",  "-J", "x.json"});
  const runtime::BenchOptions& options = command.options;

  EXPECT_EQ(command.ranks, 4);
  EXPECT_EQ(options.per_host, 4);
  EXPECT_THAT(options.operations, ElementsAre("reduce"));
  EXPECT_EQ(options.sizes.least, 8);
  EXPECT_EQ(options.sizes.most, 1536);
  EXPECT_EQ(options.sizes.step, 16);
  EXPECT_EQ(options.sizes.factor, 2);
  EXPECT_EQ(options.iterations, 5);
  EXPECT_EQ(options.aggregated, 2);
  EXPECT_EQ(options.warmup, 0);
  EXPECT_EQ(options.run_cycles, 0);
  EXPECT_EQ(options.check_rounds, 3);
  EXPECT_THAT(options.reductions, ElementsAre(ReduceOp::max));
  EXPECT_THAT(options.dtypes, ElementsAre(Dtype::f16));
  EXPECT_EQ(options.root, -1);
  EXPECT_EQ(options.timeout_s, 9.5);
  EXPECT_EQ(options.averaging, runtime::Averaging::max);
  EXPECT_EQ(options.unalign, 1);
  EXPECT_TRUE(options.cpu_time && options.timestamps && options.per_iteration);
  EXPECT_EQ(options.per_iteration_skip, 2);
  EXPECT_EQ(options.json, "x.json");
}

TEST(BenchOptions, AreReadInTheirLongForms) {
  const BenchCommand command =
      parse({"all",           "--ranks", "2",         "--minbytes", "8",          "--maxbytes=64",
             "--stepfactor",  "2",       "--iters",   "7",          "--datatype", "all",
             "--op",          "all",     "--backend", "tcp",        "--algo",     "ring",
             "--percentiles", "--pairs", "--fit",     "--expect",   "--json",     "j",
             "--csv",         "c",       "--html",    "h",          "--format",   "osu"});
  const runtime::BenchOptions& options = command.options;

  EXPECT_EQ(command.ranks, 2);
  EXPECT_EQ(options.operations.size(), 10);
  EXPECT_EQ(options.sizes.most, 64);
  EXPECT_EQ(options.iterations, 7);
  EXPECT_EQ(options.dtypes.size(), 8);
  EXPECT_EQ(options.reductions.size(), 5);
  EXPECT_EQ(options.backend, "tcp");
  EXPECT_EQ(options.algorithm, "ring");
  EXPECT_TRUE(options.percentiles && options.pairs && options.fit && options.expect);
  EXPECT_THAT((Words{options.json, options.csv, options.html}), ElementsAre("j", "c", "h"));
  EXPECT_EQ(options.format, runtime::TextFormat::osu);
}

TEST(BenchOptions, OfCudaAreTakenWithTheirDefaultOnly) {
  EXPECT_NO_THROW(parse({"all_reduce", "-t", "1", "-p", "0", "-z", "0", "-y", "0", "-G", "0", "-R",
                         "0", "-D", "0", "-V", "16"}));
  for (const char* option : {"-t", "-p", "-z", "-y", "-G", "-R", "-x", "-D", "-V", "-M"}) {
    EXPECT_THAT(refusal(ErrorCode::unsupported, {"all_reduce", option, "3"}), HasSubstr(option));
  }
}

TEST(BenchOptions, NameWhatMusterLacks) {
  EXPECT_THAT(refusal(ErrorCode::unsupported, {"all_reduce", "--backend", "nccl"}),
              HasSubstr("CUDA plug-in"));
  EXPECT_THAT(refusal(ErrorCode::unsupported, {"all_reduce", "-o", "mulsum"}), HasSubstr("mulsum"));
}

TEST(BenchOptions, NameWhatIsMalformed) {
  const auto config = [](const Words& words) { return refusal(ErrorCode::config, words); };

  EXPECT_THAT(config({"all_reduc"}), HasSubstr("did you mean all_reduce?"));
  EXPECT_THAT(config({}), HasSubstr("operation"));
  EXPECT_THAT(config({"all_reduce", "-n", "0"}), AllOf(HasSubstr("-n"), HasSubstr("1 to")));
  EXPECT_THAT(config({"all_reduce", "-S", "yes"}), HasSubstr("0 or 1"));
  EXPECT_THAT(config({"all_reduce", "-f", "1"}), HasSubstr("2 to"));
  EXPECT_THAT(config({"all_reduce", "-a", "4"}), HasSubstr("0 to 3"));
  EXPECT_THAT(config({"all_reduce", "--format", "x"}), HasSubstr("nccl or osu"));
  EXPECT_THAT(config({"all_reduce", "extra"}), HasSubstr("\"extra\""));
  EXPECT_THAT(config({"all_reduce", "--percentile"}), HasSubstr("did you mean --percentiles?"));
}

TEST(BenchOptions, ContradictingNumbersOfRanksDoNotGoTogether) {
  EXPECT_THAT(refusal(ErrorCode::invalid_argument, {"all_reduce", "--ranks", "2", "-g", "3"}),
              HasSubstr("contradict"));
  EXPECT_EQ(parse({"all_reduce", "--ranks", "3", "-g", "3"}).ranks, 3);
}

TEST(BenchOptions, OfACompareAreTwoFiles) {
  const auto compare = std::get<CompareCommand>(
      parse_command(bench({"compare", "before.json", "after.json"}), "muster 1"));

  EXPECT_EQ(compare.before, "before.json");
  EXPECT_EQ(compare.after, "after.json");
  EXPECT_THAT(refusal(ErrorCode::config, {"compare", "a"}), HasSubstr("1 files"));
}

TEST(BenchHelp, ShowsAnExampleFirst) {
  const auto text = std::get<ShowText>(parse_command(bench({"--help"}), "muster 1")).text;

  EXPECT_THAT(text, StartsWith("Example: muster bench all_reduce"));
  EXPECT_THAT(text, HasSubstr("--backend tcp --algo chain"));
}

}  // namespace
}  // namespace muster::launcher
