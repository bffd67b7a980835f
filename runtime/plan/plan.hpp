#pragma once

#include <cstdint>
#include <string>

#include "runtime/engine/program.hpp"
#include "runtime/program/price.hpp"

namespace muster::runtime {

/// How the work is split over the ranks, and what that is predicted to cost. So far one kind of
/// plan exists: every rank holds the whole model and a part of the batch.
struct Plan {
  int data_degree = 1;
  std::int64_t micro_batches = 1;  // per rank and step
  std::int64_t micro_batch_rows = 1;

  double compute_s = 0.0;            // forward and backward of all micro-batches
  double reduce_s = 0.0;             // gradients
  double update_s = 0.0;             // norms and optimiser
  std::int64_t parameter_bytes = 0;  // weights, gradients, optimiser state
  std::int64_t arena_bytes = 0;
  std::int64_t other_bytes = 0;  // what the process held before, tables, scratch
  std::int64_t peer_bytes = 0;   // gradients of ranks on this host, mapped to be reduced

  double step_s() const noexcept { return compute_s + reduce_s + update_s; }
  std::int64_t total_bytes() const noexcept {
    return parameter_bytes + arena_bytes + other_bytes + peer_bytes;
  }
  std::string summary() const;  // "data parallel over 2 ranks, 4 micro-batches of 8 sequences"
};

/// Prices the program that will run.
void price_plan(Plan& plan, const Program& program, const Profile& profile);

/// A table of the plan for people.
std::string plan_table(const Plan& plan);

/// The table of what the probe found.
std::string probe_table(const Profile& profile, int ranks, double seconds);

}  // namespace muster::runtime
