#include "launcher/bench_options.hpp"

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/number.hpp"
#include "launcher/options.hpp"
#include "runtime/bench/names.hpp"
#include "runtime/bench/operations.hpp"
#include "runtime/bench/sizes.hpp"
#include "runtime/config/names.hpp"

namespace muster::launcher {
namespace {

using runtime::BenchOptions;
using runtime::quote;

constexpr int kMost = 1'000'000'000;

/// An option that is a whole number from `least` to `most`.
struct NumberOption {
  const char* names;
  const char* help;
  int least;
  int most;
  int BenchOptions::*target;
};
constexpr std::array<NumberOption, 8> kNumbers = {{
    {"-n,--iters", "measured iterations of each size; default 20", 1, kMost,
     &BenchOptions::iterations},
    {"-m,--agg_iters", "calls in flight at once in an iteration; default 1", 1, 1024,
     &BenchOptions::aggregated},
    {"-w,--warmup_iters", "iterations before the measured ones; default 1", 0, kMost,
     &BenchOptions::warmup},
    {"-N,--run_cycles", "rounds through all sizes; 0: until stopped; default 1", 0, kMost,
     &BenchOptions::run_cycles},
    {"-c,--check", "rounds of checking the results; 0: none; default 1", 0, kMost,
     &BenchOptions::check_rounds},
    {"-r,--root", "root of broadcast, reduce, gather and scatter; -1: every rank; default 0", -1,
     kMaxRanks - 1, &BenchOptions::root},
    {"-K,--per_iter_skip", "iterations that -I and --percentiles leave out; default 0", 0, kMost,
     &BenchOptions::per_iteration_skip},
    {"-u,--unalign", "elements by which the buffers begin later; default 0", 0, 1 << 20,
     &BenchOptions::unalign},
}};

/// An option that is 0 or 1.
struct SwitchOption {
  const char* names;
  const char* help;
  bool BenchOptions::*target;
};
constexpr std::array<SwitchOption, 3> kSwitches = {{
    {"-C,--report_cputime", "1: show the time until calls have returned, not until they are done",
     &BenchOptions::cpu_time},
    {"-S,--report_timestamps", "1: a column with the time of day", &BenchOptions::timestamps},
    {"-I,--per_iter_timing", "1: columns with least, largest, p99 and spread of the iterations",
     &BenchOptions::per_iteration},
}};

/// An option of nccl-tests that only its default value fits here.
struct ForeignOption {
  const char* names;
  const char* only;
  const char* reason;
};
constexpr std::array<ForeignOption, 10> kForeign = {{
    {"-t,--nthreads", "1", "every rank is a process of its own: use --ranks"},
    {"-p,--parallel_init", "0", "it concerns the threads of one process; ranks are processes here"},
    {"-z,--blocking", "0", "it concerns waiting for CUDA streams"},
    {"-y,--stream_null", "0", "it concerns CUDA's null stream"},
    {"-G,--cudagraph", "0", "it concerns CUDA graphs"},
    {"-R,--local_register", "0", "it concerns the registration of CUDA memory"},
    {"-x,--cta_policy", "0", "it concerns CUDA thread blocks"},
    {"-D,--device_implementation", "0", "it concerns kernels that communicate on CUDA devices"},
    {"-V,--device_cta_count", "16", "it concerns CUDA thread blocks"},
    {"-M,--memory", "0", "it concerns the memory of CUDA devices"},
}};

/// An option that is a flag or a text of muster's own.
struct FlagOption {
  const char* names;
  const char* help;
  bool BenchOptions::*target;
};
constexpr std::array<FlagOption, 4> kFlags = {{
    {"--percentiles", "columns with p50, p95, p99 and largest time of single iterations",
     &BenchOptions::percentiles},
    {"--pairs", "measure every pair of ranks and name the slow end", &BenchOptions::pairs},
    {"--fit", "latency and time per byte of a line through the sizes", &BenchOptions::fit},
    {"--expect", "what the measured pairs allow, and how near the run came", &BenchOptions::expect},
}};
struct FileOption {
  const char* names;
  const char* help;
  std::string BenchOptions::*target;
};
constexpr std::array<FileOption, 3> kFiles = {{
    {"-J,--output_file,--json", "write a report in nccl-tests' JSON; F.0, F.1 … where F is there",
     &BenchOptions::json},
    {"--csv", "write the rows as CSV", &BenchOptions::csv},
    {"--html", "write a page with curves, table and matrix", &BenchOptions::html},
}};

bool read_switch(const SwitchOption& option, const std::string& text) {
  if (text != "0" && text != "1") {
    throw Error(ErrorCode::config,
                fmt::format("{} {}: allowed is 0 or 1", option.names, quote(text)));
  }
  return text == "1";
}

void check_foreign(const ForeignOption& option, const std::string& text) {
  if (text.empty() || text == option.only) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} {}: {}; leave it out", option.names, quote(text), option.reason));
}

}  // namespace

/// Options as they were typed; empty where they were not.
struct BenchLine::Typed {
  std::string operation;
  std::vector<std::string> files;
  std::string ranks;
  std::string per_host;
  std::string least;
  std::string most;
  std::string step;
  std::string factor;
  std::string reduction;
  std::string type;
  std::string timeout;
  std::string averaging;
  std::string backend = "auto";
  std::string algorithm;
  std::string format = "nccl";
  std::array<std::string, kNumbers.size()> numbers;
  std::array<std::string, kSwitches.size()> switches;
  std::array<std::string, kForeign.size()> foreign;
  BenchOptions options;  // flags and files need no reading

  runtime::SizeRange sizes() const;
  runtime::Averaging read_averaging() const;
  void read_numbers(BenchOptions& result) const;
  void read_additions(BenchOptions& result) const;
};

BenchLine::BenchLine() : typed_(std::make_unique<Typed>()) {}
BenchLine::~BenchLine() = default;

void BenchLine::add_to(CLI::App& app) {
  CLI::App& bench = *app.add_subcommand("bench", "measure collectives, as nccl-tests does");
  Typed& typed = *typed_;
  const auto add = [&](const char* names, std::string& text, const std::string& help,
                       const char* value) {
    bench.add_option(names, text, help)->option_text(value);
  };
  bench
      .add_option("operation", typed.operation,
                  "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, alltoallv, "
                  "gather, scatter, sendrecv (also with _perf), all, or compare")
      ->required()
      ->option_text("OP");
  bench.add_option("files", typed.files, "two reports to compare")
      ->option_text("BEFORE.json AFTER.json");
  add("--ranks", typed.ranks, fmt::format("number of ranks on this machine, 1 to {}", kMaxRanks),
      "N");
  add("-g,--ngpus", typed.per_host, "the same in nccl-tests' words; default 1", "N");
  add("-b,--minbytes", typed.least, "smallest size, such as 8, 1.5K or 32M; default 32M", "SIZE");
  add("-e,--maxbytes", typed.most, "largest size; default 32M", "SIZE");
  add("-i,--stepbytes", typed.step, "from one size to the next, in bytes; default 1M", "SIZE");
  add("-f,--stepfactor", typed.factor, "from one size to the next, as a factor", "N");
  add("-o,--op", typed.reduction, "sum, prod, max, min, avg or all; default sum", "OP");
  add("-d,--datatype", typed.type,
      "int8, uint8, int32, int64, half, float, double, bfloat16 or all; default float", "TYPE");
  add("-T,--timeout", typed.timeout, "longest time of one call; default 300", "SECONDS");
  add("-a,--average", typed.averaging,
      "whose time counts: 0 rank 0, 1 mean, 2 least, 3 largest; default 1", "0-3");
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    add(kNumbers[i].names, typed.numbers[i], kNumbers[i].help, "N");
  }
  for (std::size_t i = 0; i < kSwitches.size(); ++i) {
    add(kSwitches[i].names, typed.switches[i], kSwitches[i].help, "0|1");
  }
  add("--backend", typed.backend, "auto, shm, tcp, mpi or nccl; default auto", "NAME");
  add("--algo", typed.algorithm,
      "algorithm of back ends that have a choice (tcp; hierarchical between hosts), as ring or "
      "all_reduce=ring;broadcast=chain; default auto, the cheapest",
      "NAME");
  for (const FlagOption& flag : kFlags) {
    bench.add_flag(flag.names, typed.options.*flag.target, flag.help);
  }
  for (const FileOption& file : kFiles) {
    add(file.names, typed.options.*file.target, file.help, "FILE");
  }
  add("--format", typed.format, "nccl or osu; default nccl", "NAME");
  for (std::size_t i = 0; i < kForeign.size(); ++i) {
    add(kForeign[i].names, typed.foreign[i],
        fmt::format("only {}: {}", kForeign[i].only, kForeign[i].reason), "N");
  }
}

runtime::SizeRange BenchLine::Typed::sizes() const {
  runtime::SizeRange range;
  if (!least.empty()) range.least = runtime::parse_size("-b", least);
  if (!most.empty()) range.most = runtime::parse_size("-e", most);
  if (!step.empty()) range.step = runtime::parse_size("-i", step);
  if (!factor.empty()) range.factor = read_number<std::int64_t>("-f", factor, 2, 1 << 20);
  return range;
}

runtime::Averaging BenchLine::Typed::read_averaging() const {
  return averaging.empty()
             ? runtime::Averaging::mean
             : static_cast<runtime::Averaging>(read_number<int>("-a", averaging, 0, 3));
}

void BenchLine::Typed::read_numbers(BenchOptions& result) const {
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    const NumberOption& option = kNumbers[i];
    if (numbers[i].empty()) continue;
    result.*option.target = read_number<int>(option.names, numbers[i], option.least, option.most);
  }
  for (std::size_t i = 0; i < kSwitches.size(); ++i) {
    if (!switches[i].empty()) result.*kSwitches[i].target = read_switch(kSwitches[i], switches[i]);
  }
  for (std::size_t i = 0; i < kForeign.size(); ++i) check_foreign(kForeign[i], foreign[i]);
  if (!timeout.empty()) result.timeout_s = read_number<double>("-T", timeout, 0.001, 1e6);
}

void BenchLine::Typed::read_additions(BenchOptions& result) const {
  if (backend == "nccl") {
    throw Error(ErrorCode::unsupported,
                "--backend nccl comes with the CUDA plug-in, which this "
                "build lacks; there are auto, shm, tcp, mpi");
  }
  if (format != "nccl" && format != "osu") {
    throw Error(ErrorCode::config,
                fmt::format("--format {}: allowed is nccl or osu", quote(format)));
  }
  result.backend = backend;
  result.algorithm = algorithm;
  result.format = format == "osu" ? runtime::TextFormat::osu : runtime::TextFormat::nccl;
}

bool BenchLine::is_comparison() const {
  return typed_->operation == "compare";
}

BenchCommand BenchLine::bench_command() const {
  const Typed& typed = *typed_;
  BenchCommand command{.options = typed.options};
  BenchOptions& options = command.options;
  options.operations = runtime::parse_operations(typed.operation);
  if (!typed.files.empty()) {
    throw Error(ErrorCode::config, fmt::format("unexpected argument {}; muster bench --help lists "
                                               "what there is",
                                               quote(typed.files.front())));
  }
  options.sizes = typed.sizes();
  options.averaging = typed.read_averaging();
  if (!typed.reduction.empty())
    options.reductions = runtime::parse_nccl_reductions(typed.reduction);
  if (!typed.type.empty()) options.dtypes = runtime::parse_nccl_types(typed.type);
  typed.read_numbers(options);
  typed.read_additions(options);
  if (!typed.per_host.empty())
    options.per_host = read_number<int>("-g", typed.per_host, 1, kMaxRanks);
  if (!typed.ranks.empty()) command.ranks = read_number<int>("--ranks", typed.ranks, 1, kMaxRanks);
  if (!typed.per_host.empty() && command.ranks.value_or(options.per_host) != options.per_host) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--ranks {} and -g {} contradict each other", *command.ranks,
                            options.per_host));
  }
  if (!typed.per_host.empty()) command.ranks = options.per_host;
  return command;
}

CompareCommand BenchLine::compare_command() const {
  if (typed_->files.size() != 2) {
    throw Error(ErrorCode::config, fmt::format("muster bench compare BEFORE.json AFTER.json: {} "
                                               "files given",
                                               typed_->files.size()));
  }
  return {typed_->files[0], typed_->files[1]};
}

}  // namespace muster::launcher
