#include "runtime/train/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/seconds.hpp"
#include "kernels/devices.hpp"
#include "runtime/checkpoint/output_dir.hpp"
#include "runtime/pairs/timed_calls.hpp"
#include "runtime/probe/links.hpp"
#include "runtime/probe/ops.hpp"
#include "runtime/train/shape.hpp"
#include "runtime/world/group.hpp"

namespace muster::runtime {
namespace {

/// Fills the frame as full rows of one document each would, so that attention is measured at the
/// length it will have.
void fill_probe_batch(Engine& engine, const BatchShape& batch) {
  const auto tokens = static_cast<std::size_t>(batch.tokens());
  std::vector<std::int32_t> zeros(tokens, 0);
  std::vector<std::int32_t> positions(tokens);
  std::vector<std::int32_t> bounds(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    positions[t] = static_cast<std::int32_t>(t) % static_cast<std::int32_t>(batch.seq_len);
    bounds[t] = static_cast<std::int32_t>(t) - positions[t];
  }
  engine.fill_frame({zeros, zeros, positions, bounds}, 0.0F);
}

/// Of many equal blocks two are enough.
bool is_representative(const OpSource& source) {
  constexpr std::int64_t kMeasuredLayers = 2;
  return source.layer < kMeasuredLayers;
}

DeviceProfile measure_device(const JobConfig& config, Engine& engine, kernels::Device& device) {
  DeviceProfile profile;
  const double budget = config.probe.budget_seconds;
  profile.memory_bytes = measure_memory(device, std::size_t{16} << 20);
  const Program& program = engine.program();
  const auto chosen = [&](std::size_t i) { return is_representative(program.sources[i]); };
  const auto all = [](std::size_t) { return true; };
  measure_ops(program.first, engine.bound_first(), chosen, 0.25 * budget, profile);
  measure_ops(program.middle, engine.bound_middle(), chosen, 0.05 * budget, profile);
  measure_ops(program.norms, engine.bound_norms(), all, 0.05 * budget, profile);
  measure_ops(program.update, engine.bound_update(), all, 0.05 * budget, profile);
  return profile;
}

/// Every rank's numbers become those of the slowest.
void agree_on_slowest(Plan& plan, collectives::Communicator& group) {
  std::array<double, 4> numbers{plan.compute_s, plan.reduce_s, plan.update_s,
                                static_cast<double>(plan.other_bytes)};
  const TensorView view = vector_view(numbers.data(), std::ssize(numbers));
  group.all_reduce(view, view, collectives::ReduceOp::max, {.label = "plan"}).wait();
  plan.compute_s = numbers[0];
  plan.reduce_s = numbers[1];
  plan.update_s = numbers[2];
  plan.other_bytes = static_cast<std::int64_t>(numbers[3]);
}

/// What the slowest link does, by messages of a group that is made for it.
collectives::LinkProfile measure_links_between(const JobConfig& config, World& world,
                                               collectives::GroupSpec spec,
                                               kernels::Device& device) {
  spec.name = "links";
  const auto deadline = Deadline::after_seconds(config.comm.init_timeout_seconds);
  const auto group =
      collectives::create_communicator(config.comm.backend, spec, *world.store, device, deadline);
  return measure_neighbours(*group, 0.02 * config.probe.budget_seconds);
}

}  // namespace

JobInputs read_inputs(const JobConfig& config, int ranks) {
  JobInputs inputs;
  inputs.tokenizer = open_tokenizer(config.tokenizer);
  inputs.shape = model_shape(config, inputs.tokenizer->vocab_size());
  inputs.batching = cut_batch(config, ranks);
  inputs.data = load_job_data(config, *inputs.tokenizer, inputs.shape.vocab);
  return inputs;
}

void check_resources(const JobConfig& config, const JobInputs& inputs, const World& world) {
  const EngineOptions options =
      engine_options(config, inputs.shape, inputs.batching.micro_batch(config.data.seq_len));
  const Program program = make_program(options, world.size);
  const std::int64_t rank_bytes =
      ParameterStore::bytes(program.registry, {.compute = options.compute}) + program.arena_bytes();
  const double needed = static_cast<double>(rank_bytes) * world.local_size;
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > there) {
    throw Error(ErrorCode::config,
                fmt::format("{}: parameters, optimiser state and activations need {:.1f} GiB of "
                            "memory on each of {} ranks here, {:.1f} GiB in all; this host has "
                            "{:.1f} GiB",
                            config.file, static_cast<double>(rank_bytes) / 0x1p30, world.local_size,
                            needed / 0x1p30, there / 0x1p30));
  }
  if (world.rank != 0) return;
  const std::int64_t interval = config.checkpoint.interval;
  const std::int64_t saves = interval > 0 ? (config.training.steps + interval - 1) / interval : 1;
  const std::int64_t copies = std::min(saves, config.checkpoint.keep_latest_k + 1);
  constexpr std::int64_t kBytesPerParameter = 12;  // weights and two moments in f32
  check_output_dir(config.job.output_dir,
                   copies * kBytesPerParameter * program.registry.elements());
}

std::unique_ptr<kernels::Device> open_job_device(const JobConfig& config, int threads) {
  kernels::DeviceOptions options;
  options.threads = config.device.threads > 0 ? static_cast<int>(config.device.threads) : threads;
  return kernels::open_device(config.device.kind, options);
}

DataGroup open_data_group(const JobConfig& config, World& world, int cores_per_rank,
                          kernels::Device& device) {
  collectives::GroupSpec spec = world_group(world, "data", cores_per_rank);
  spec.encrypts = config.comm.encrypt;
  DataGroup data;
  data.backend = collectives::choose_backend(config.comm.backend, spec, device);
  data.algorithms = agree_on_algorithms(config, world, data.backend);
  if (data.algorithms.is_open && config.probe.enable && spec.size > 1) {
    decide_by_links(measure_links_between(config, world, spec, device), data.algorithms);
  }
  spec.algorithms = data.algorithms.table;
  data.group =
      collectives::create_communicator(data.backend, spec, *world.store, device,
                                       Deadline::after_seconds(config.comm.init_timeout_seconds));
  return data;
}

EngineOptions engine_options(const JobConfig& config, const ModelShape& shape,
                             const BatchShape& batch) {
  return {.shape = shape,
          .batch = batch,
          .compute = compute_dtype(config.training.precision),
          .adamw = {.beta1 = config.optimizer.beta1,
                    .beta2 = config.optimizer.beta2,
                    .eps = config.optimizer.eps,
                    .weight_decay = config.optimizer.weight_decay},
          .no_decay = config.optimizer.no_decay,
          .comm_timeout_s = config.comm.train_timeout_seconds};
}

Forecast make_forecast(const JobConfig& config, const Batching& batching, Engine& engine,
                       kernels::Device& device, collectives::Communicator& group) {
  Forecast forecast;
  const auto begin = std::chrono::steady_clock::now();
  if (config.probe.enable) {
    fill_probe_batch(engine, batching.micro_batch(config.data.seq_len));
    group.barrier({.label = "probe"});
    forecast.profile.device = measure_device(config, engine, device);
    forecast.profile.link =
        measure_links(group, 4.0 * static_cast<double>(engine.registry().padded_elements()),
                      0.2 * config.probe.budget_seconds);
  }
  forecast.probe_s = seconds_since(begin);
  Plan& plan = forecast.plan;
  plan.data_degree = group.size();
  plan.micro_batches = batching.micro_batches;
  plan.micro_batch_rows = batching.micro_batch_rows;
  plan.parameter_bytes = ParameterStore::bytes(engine.registry(), engine.store().options());
  plan.peer_bytes = std::int64_t{4} * (group.size() - 1) * engine.registry().padded_elements();
  // All of the engine's memory has been touched: what is resident beyond it is everything else.
  plan.other_bytes = std::max<std::int64_t>(
      0, resident_bytes() - plan.parameter_bytes - engine.program().arena_bytes());
  price_plan(plan, engine.program(), forecast.profile);
  agree_on_slowest(plan, group);
  return forecast;
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace muster::runtime
