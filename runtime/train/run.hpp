#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/job.hpp"
#include "runtime/control/reporter.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// Runs a training job on this rank from the first barrier to the last checkpoint. Collective over
/// the world. Returns 0, or 75 when it was asked to stop and has saved a checkpoint to resume from.
/// Errors: as their layers say; config errors come before anything is written.
int run_train(World& world, const JobConfig& config, Reporter& reporter, const StopFlag& stop);

struct GenerateOptions {
  std::string checkpoint;  // an output folder, or one of its step-N folders
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;  // 0: always the likeliest token
  std::int64_t seed = 1;
};

/// Samples text from a checkpoint on one rank, writing it as it comes. Returns 0.
int run_generate(const GenerateOptions& options, Reporter& reporter);

struct PlanOptions {
  JobConfig config;
  int ranks = 1;
  bool show_program = false;  // the lists after all passes
  bool show_config = false;   // every key with its value
};

/// Prints the plan of a job without training it. Returns 0.
int run_plan(const PlanOptions& options, Reporter& reporter);

}  // namespace muster::runtime
