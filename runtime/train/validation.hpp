#pragma once

#include <cstdint>

#include "collectives/communicator.hpp"
#include "runtime/dataset/samples.hpp"
#include "runtime/engine/engine.hpp"

namespace muster::runtime {

struct ValidationResult {
  double loss = 0.0;        // mean over all targets
  std::int64_t tokens = 0;  // targets
};

/// Loss on held-out text, each sample once over all ranks: the mean over tokens, not over batches.
class Validator {
 public:
  /// `most_batches`: micro-batches of all ranks together; 0: the whole set. `batch` is the shape of
  /// the engine's micro-batches.
  Validator(const ValidationSet& set, BatchShape batch, std::int64_t most_batches);

  /// Collective over the group.
  ValidationResult run(Engine& engine, collectives::Communicator& group, double timeout_s);

 private:
  const ValidationSet& set_;
  std::int64_t batches_;
  MicroBatch batch_;
};

}  // namespace muster::runtime
