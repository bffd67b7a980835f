#include "runtime/bench/run_bench.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "kernels/devices.hpp"
#include "runtime/bench/algorithm_choice.hpp"
#include "runtime/bench/csv_report.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/bench/expect.hpp"
#include "runtime/bench/filtered_environment.hpp"
#include "runtime/bench/fit.hpp"
#include "runtime/bench/html_report.hpp"
#include "runtime/bench/json_report.hpp"
#include "runtime/bench/measure.hpp"
#include "runtime/bench/osu_report.hpp"
#include "runtime/bench/pairs.hpp"
#include "runtime/bench/text_report.hpp"
#include "runtime/control/exit_codes.hpp"
#include "runtime/control/report_file.hpp"
#include "runtime/world/agree.hpp"
#include "runtime/world/cores.hpp"
#include "runtime/world/environment.hpp"
#include "runtime/world/group.hpp"

namespace muster::runtime {
namespace {

/// The group of all ranks, with the algorithms of rank 0 where its back end has a choice.
collectives::GroupSpec bench_group(World& world, const BenchOptions& options, int cores_per_rank,
                                   const kernels::Device& device) {
  collectives::GroupSpec spec = world_group(world, "bench", cores_per_rank);
  const std::string_view backend = collectives::choose_backend(options.backend, spec, device);
  check_algorithms(options, backend);
  if (!collectives::has_algorithms(backend)) return spec;
  const std::string table = agree(world, "bench/algorithms", kBenchStartTimeout, [&] {
    return bench_algorithms(options, Environment::current().find("MUSTER_ALGO")).to_text();
  });
  spec.algorithms = collectives::AlgorithmTable::parse(table);
  return spec;
}

/// Everything that one operation is measured with.
std::vector<BenchCase> cases_of(const BenchOperation& operation, const BenchOptions& options,
                                int ranks) {
  const std::vector<kernels::ReduceOp> one = {kernels::ReduceOp::sum};
  const int first = operation.has_root && options.root >= 0 ? options.root : 0;
  const int last = operation.has_root && options.root < 0 ? ranks - 1 : first;
  std::vector<BenchCase> cases;
  for (const Dtype dtype : options.dtypes) {
    for (const kernels::ReduceOp op : operation.is_reduction ? options.reductions : one) {
      for (int root = first; root <= last; ++root) {
        cases.push_back({.operation = operation, .dtype = dtype, .op = op, .root = root});
      }
    }
  }
  return cases;
}

std::size_t largest_buffer(const BenchOptions& options, int ranks) {
  std::size_t bytes = 0;
  for (const std::string& name : options.operations) {
    const std::vector<BenchCase> cases = cases_of(find_operation(name), options, ranks);
    bytes = std::max(bytes, buffer_bytes(cases, options.sizes.most, ranks));
  }
  return bytes;
}

std::size_t unalign_bytes(const BenchOptions& options) {
  std::size_t widest = 0;
  for (const Dtype dtype : options.dtypes) widest = std::max(widest, size_of(dtype));
  return static_cast<std::size_t>(options.unalign) * widest;
}

void check_memory(std::size_t bytes, const World& world) {
  const double needed = 2.0 * static_cast<double>(bytes) * world.local_size;
  const double there =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed <= 0.9 * there) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("buffers of {} ranks on this host need {:.1f} GiB of {:.1f} GiB; choose a "
                  "smaller largest size (-e)",
                  world.local_size, needed / 1073741824.0, there / 1073741824.0));
}

/// The reports that go into files; only rank 0 has them.
class ReportFiles {
 public:
  explicit ReportFiles(const BenchOptions& options) {
    if (!options.json.empty()) json_.emplace(options.json, ReportFile::IfThere::count_up);
    if (!options.csv.empty()) csv_.emplace(options.csv, ReportFile::IfThere::replace);
    if (!options.html.empty()) html_.emplace(options.html, ReportFile::IfThere::replace);
  }

  std::string json_path() const { return json_ ? json_->path() : std::string(); }
  void write(const BenchReport& report) {
    if (json_) json_->write(json_report(report));
    if (csv_) csv_->write(csv_report(report));
    if (html_) html_->write(html_report(report));
  }

 private:
  std::optional<ReportFile> json_;
  std::optional<ReportFile> csv_;
  std::optional<ReportFile> html_;
};

class Run {
 public:
  Run(World& world, const BenchOptions& options, const std::string& version, Reporter& reporter,
      const StopFlag& stop)
      : world_(world), options_(options), reporter_(reporter), stop_(stop) {
    check_bench_options(options, world.size);
    const std::size_t bytes = largest_buffer(options, world.size);
    check_memory(bytes, world);
    if (is_chief()) files_.emplace(options);
    const ThreadChoice threads = threads_for_this_rank(world);
    device_ = kernels::open_device("cpu", {.threads = threads.threads});
    const auto spec = bench_group(world, options, threads.cores_per_rank, *device_);
    group_ = collectives::create_communicator(options.backend, spec, *world.store, *device_,
                                              Deadline::after_seconds(kBenchStartTimeout));
    report_.algorithms = spec.algorithms;
    buffers_ = std::make_unique<BenchBuffers>(*group_, bytes, unalign_bytes(options));
    bench_ = std::make_unique<Bench>(*group_, options_, *buffers_);
    introduce(version);
  }

  int run() {
    if (options_.pairs || options_.expect) {
      report_.pairs = measure_pairs(*group_, options_.timeout_s);
      report_.pairs->findings = describe_pairs(*report_.pairs, world_.members);
    }
    for (const std::string& name : options_.operations) {
      if (!is_stopped_) run_operation(find_operation(name));
    }
    finish();
    if (is_stopped_) return kExitStopped;
    return summarize(report_.rows, options_.least_bandwidth).is_good() || !is_chief()
               ? 0
               : kBenchExitWrong;
  }

 private:
  bool is_chief() const { return world_.rank == 0; }
  bool is_osu() const { return options_.format == TextFormat::osu; }
  void say(const std::string& text) {
    if (is_chief() && !text.empty()) reporter_.lines(text);
  }

  void introduce(const std::string& version);
  void run_operation(const BenchOperation& operation);
  void run_case(const BenchCase& which);
  void show(const BenchRow& row);
  void agree_on_stop();
  void finish();

  World& world_;
  const BenchOptions& options_;
  Reporter& reporter_;
  const StopFlag& stop_;
  std::optional<ReportFiles> files_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<collectives::Communicator> group_;
  std::unique_ptr<BenchBuffers> buffers_;
  std::unique_ptr<Bench> bench_;
  BenchReport report_;
  bool is_stopped_ = false;
};

void Run::introduce(const std::string& version) {
  report_.options = options_;
  report_.version = version;
  report_.backend = group_->backend();
  report_.environment = filtered_environment();
  report_.start_time = time_of_day();
  for (const Member& member : world_.members) {
    report_.devices.push_back({.rank = member.rank,
                               .pid = member.pid,
                               .host = member.host,
                               .local_rank = member.local_rank,
                               .description = "cpu, " + device_->description()});
  }
  if (is_chief() && !options_.json.empty()) {
    say(fmt::format("# Writing JSON output to {}", files_->json_path()));
  }
}

void Run::run_operation(const BenchOperation& operation) {
  const std::size_t first = report_.rows.size();
  if (is_osu()) {
    say(osu_header(report_, operation.name));
  } else {
    say(text_preamble(report_, operation.name) + "\n" + text_header(options_));
  }
  const std::vector<BenchCase> cases = cases_of(operation, options_, world_.size);
  const bool is_endless = options_.run_cycles == 0;
  for (std::int64_t cycle = 0; !is_stopped_ && (is_endless || cycle < options_.run_cycles);
       ++cycle) {
    if (is_endless) report_.rows.resize(first);  // of runs without end only the last cycle is kept
    for (const BenchCase& which : cases) {
      if (!is_stopped_) run_case(which);
    }
  }
  const std::vector<BenchRow> rows(report_.rows.begin() + static_cast<std::ptrdiff_t>(first),
                                   report_.rows.end());
  if (!is_osu()) say(text_footer(summarize(rows, options_.least_bandwidth), operation.name));
}

void Run::run_case(const BenchCase& which) {
  bench_->warm_up(which);
  for (const std::int64_t bytes : sizes_of(options_.sizes)) {
    report_.rows.push_back(bench_->measure(which, bytes));
    show(report_.rows.back());
    agree_on_stop();
    if (is_stopped_) return;
  }
}

void Run::show(const BenchRow& row) {
  say(is_osu() ? osu_row(row) : text_row(row, options_));
  if (!is_chief()) return;
  for (const HalfResult* half : {&row.out_of_place, &row.in_place}) {
    if (half->first_wrong.empty()) continue;
    log_error(fmt::format("wrong data: {} {} {} B: {}", row.operation, row.type, row.bytes,
                          half->first_wrong));
  }
}

/// Ranks are asked to stop at different times, and stop after the same row.
void Run::agree_on_stop() {
  std::int32_t asked = stop_.is_asked() ? 1 : 0;
  const TensorView view = vector_view(&asked, 1);
  group_->all_reduce(view, view, kernels::ReduceOp::max, {.timeout_s = options_.timeout_s}).wait();
  is_stopped_ = asked != 0;
}

void Run::finish() {
  if (options_.fit) report_.fits = fit_rows(report_.rows);
  if (options_.expect) add_expectations(report_);
  report_.end_time = time_of_day();
  say(text_additions(report_));
  const BenchSummary summary = summarize(report_.rows, options_.least_bandwidth);
  if (is_chief() && !summary.is_bandwidth_enough) {
    log_error(
        fmt::format("average bus bandwidth {:g} GB/s is below nine tenths of the {:g} GB/s "
                    "that NCCL_TESTS_MIN_BW demands",
                    summary.bandwidth, options_.least_bandwidth));
  }
  if (files_) files_->write(report_);
  group_->barrier({.timeout_s = options_.timeout_s});
}

}  // namespace

int run_bench(World& world, const BenchOptions& options, const std::string& version,
              Reporter& reporter, const StopFlag& stop) {
  return Run(world, options, version, reporter, stop).run();
}

}  // namespace muster::runtime
