#pragma once

#include <optional>
#include <string>

#include "collectives/communicator.hpp"
#include "runtime/config/job.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/train/trainer.hpp"

namespace muster::runtime {

/// Writes checkpoints of a run. Collective; every rank writes its share of the tensors.
class Saver {
 public:
  Saver(const JobConfig& config, Engine& engine, collectives::Communicator& group)
      : config_(config), engine_(engine), group_(group) {}

  /// Writes `output_dir/checkpoints/step-N` and prunes old ones. If any rank fails, all agree that
  /// it failed, the failing rank logs why, nothing that looks complete is left and older
  /// checkpoints stay: then with `must_succeed` every rank throws Error(io), else nothing is
  /// returned and training may go on. The path otherwise; nothing either if this step was saved
  /// already.
  std::optional<std::string> save(const TrainerPosition& position, const LossScaleState& scale,
                                  bool must_succeed);

 private:
  /// Whether no rank has a problem. Collective.
  bool all_succeeded(const std::string& problem);

  const JobConfig& config_;
  Engine& engine_;
  collectives::Communicator& group_;
  std::int64_t last_saved_ = -1;
};

}  // namespace muster::runtime
