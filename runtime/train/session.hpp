#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/communicator.hpp"
#include "kernels/device/device.hpp"
#include "runtime/config/job.hpp"
#include "runtime/dataset/job_data.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/model/shape.hpp"
#include "runtime/plan/plan.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/train/algorithms.hpp"
#include "runtime/train/batching.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// What a job needs before any rank talks to another: everything that can be wrong in its files is
/// found here. Costs the reading of the text.
struct JobInputs {
  std::unique_ptr<Tokenizer> tokenizer;
  ModelShape shape;
  Batching batching;
  JobData data;
};
JobInputs read_inputs(const JobConfig& config, int ranks);

/// Makes sure, before anything big is allocated or written, that parameters and arena of all ranks
/// of this host fit its memory and that the output folder takes the checkpoints (rank 0 looks at
/// it). Error(config) names bytes needed and there.
void check_resources(const JobConfig& config, const JobInputs& inputs, const World& world);

/// Opens the device with the job's number of threads or, when it names none, with `threads`.
std::unique_ptr<kernels::Device> open_job_device(const JobConfig& config, int threads);

/// The group of all ranks, and how it moves its data.
struct DataGroup {
  std::unique_ptr<collectives::Communicator> group;
  std::string backend;  // a name of collectives::backend_names()
  AlgorithmDecision algorithms;
};
/// Collective. `cores_per_rank` as in collectives::GroupSpec. Error(config) as decide_algorithms().
DataGroup open_data_group(const JobConfig& config, World& world, int cores_per_rank,
                          kernels::Device& device);

/// What the lists of a job depend on.
EngineOptions engine_options(const JobConfig& config, const ModelShape& shape,
                             const BatchShape& batch);

/// Probe and plan of a job on an engine whose parameters hold nothing yet: their memory is used for
/// the measurements. Collective; every rank returns the same plan.
struct Forecast {
  Plan plan;
  Profile profile;
  double probe_s = 0.0;
};
Forecast make_forecast(const JobConfig& config, const Batching& batching, Engine& engine,
                       kernels::Device& device, collectives::Communicator& group);

/// Bytes of memory that the process holds now, and the most it ever held.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace muster::runtime
