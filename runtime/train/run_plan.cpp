#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "collectives/self/self_communicator.hpp"
#include "kernels/base/error.hpp"
#include "runtime/train/run.hpp"
#include "runtime/train/session.hpp"
#include "runtime/train/show.hpp"
#include "runtime/world/cores.hpp"

namespace muster::runtime {
namespace {

/// What one rank of `ranks` would do, measured on this machine by a rank alone.
Forecast forecast_of(const PlanOptions& options, const JobInputs& inputs, kernels::Device& device,
                     Engine& engine, collectives::Communicator& alone) {
  Forecast forecast = make_forecast(options.config, inputs.batching, engine, device, alone);
  forecast.plan.data_degree = options.ranks;
  forecast.plan.peer_bytes =
      std::int64_t{4} * (options.ranks - 1) * engine.registry().padded_elements();
  return forecast;
}

}  // namespace

int run_plan(const PlanOptions& options, Reporter& reporter) {
  if (options.ranks < 1 || options.ranks > 65536) {
    throw Error(ErrorCode::config, fmt::format("-n {}: allowed is 1 to 65536", options.ranks));
  }
  if (options.show_config) reporter.lines(to_toml(options.config));
  const JobInputs inputs = read_inputs(options.config, options.ranks);
  const int cores = static_cast<int>(affinity_cpus().size());
  const auto device = open_job_device(options.config, std::max(1, cores / options.ranks));
  collectives::SelfCommunicator alone({.name = "plan", .hosts = {"here"}}, *device);
  Engine engine(engine_options(options.config, inputs.shape,
                               inputs.batching.micro_batch(options.config.data.seq_len)),
                *device, alone);
  const Forecast forecast = forecast_of(options, inputs, *device, engine, alone);
  if (options.show_program) {
    reporter.lines(show_program(engine.program(), forecast.profile));
  }
  reporter.lines(plan_table(forecast.plan));
  if (options.ranks > 1) {
    reporter.lines(
        "  the time of the gradients' reduction is not in it: links are measured when "
        "the ranks are running");
  }
  return 0;
}

}  // namespace muster::runtime
