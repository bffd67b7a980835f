#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/shape.hpp"
#include "runtime/program/liveness.hpp"
#include "runtime/program/model.hpp"
#include "runtime/program/registry.hpp"
#include "runtime/program/unroll.hpp"
#include "runtime/program/update.hpp"

namespace muster::runtime {

/// What of the job decides the lists.
struct EngineOptions {
  ModelShape shape;
  BatchShape batch;  // of one micro-batch
  Dtype compute = Dtype::f32;
  bool is_training = true;  // false: validation only
  AdamwConstants adamw;
  std::vector<std::string> no_decay = {"norm", "bias"};
  double comm_timeout_s = 100.0;
};

/// The family's model after the passes that come before differentiate().
Model forward_model(const EngineOptions& options);

/// The lists of a job after all passes, and what they need, without a device: what the planner
/// prices and what Engine runs.
struct Program {
  Registry registry;
  std::vector<Constant> constants;
  List first;   // a micro-batch that begins the sums of a step
  List middle;  // one that adds to them
  List last;    // one that adds, and reduces over the data group
  List only;    // one that begins and reduces
  List norms;
  List update;
  List evaluate;                  // forward and loss
  ArenaPlan arena;                // of the four forms
  ArenaPlan evaluate_arena;       // of evaluate; the same memory
  std::vector<OpSource> sources;  // of the ops of first and middle

  /// Bytes of the one arena that serves both.
  std::int64_t arena_bytes() const noexcept { return std::max(arena.bytes, evaluate_arena.bytes); }
};
Program make_program(const EngineOptions& options, int data_degree);

}  // namespace muster::runtime
