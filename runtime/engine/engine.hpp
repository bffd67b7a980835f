#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "collectives/communicator.hpp"
#include "kernels/device/device.hpp"
#include "kernels/ops/adamw.hpp"
#include "runtime/engine/program.hpp"
#include "runtime/program/executor.hpp"
#include "runtime/program/parameter_store.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// One micro-batch, as the loader cuts it; every field has batch.tokens() elements.
struct MicroBatchView {
  std::span<const std::int32_t> tokens;
  std::span<const std::int32_t> targets;
  std::span<const std::int32_t> positions;
  std::span<const std::int32_t> bounds;
};

/// A program bound to this rank's device and memory: forward, backward, reduction and update.
/// One thread at a time; collective calls on every rank in the same order.
class Engine {
 public:
  Engine(const EngineOptions& options, kernels::Device& device,
         collectives::Communicator& data_group);

  const Program& program() const noexcept { return program_; }
  const Registry& registry() const noexcept { return program_.registry; }
  ParameterStore& store() noexcept { return store_; }
  const StepMemory& memory() const noexcept { return memory_; }

  /// Rounds the master weights into the compute copies; after loading or initialising.
  void refresh_compute_copies();

  /// Forward and backward of micro-batch `index` of `count`, summing into gradients and loss; the
  /// last one reduces the gradients over the data group.
  void run_micro_batch(const MicroBatchView& batch, std::int64_t index, std::int64_t count,
                       float loss_seed);
  /// Forward only; returns the sum of the loss over the targets.
  double evaluate(const MicroBatchView& batch);

  /// Summed loss of this rank's micro-batches of the step, not yet divided by anything.
  double loss_sum() const { return memory_.loss(); }
  /// Squared norm of all reduced gradients; infinite or NaN if one is not finite.
  double take_norm_squared();
  /// The first parameter whose own gradient on this rank was not finite; -1 if all were.
  int first_not_finite() const;
  /// Updates master weights and compute copies.
  void update(const kernels::AdamwStep& step);

  /// Plants a NaN into the gradient of a parameter at the next last micro-batch, before it is
  /// reduced: for tests of what must happen then.
  void plant_nan(int parameter) noexcept { planted_ = parameter; }

  /// Copies a micro-batch into the frame without running anything.
  void fill_frame(const MicroBatchView& batch, float loss_seed);

  /// The bound lists, for measuring their ops.
  const BoundList& bound_first() const noexcept { return *first_; }
  const BoundList& bound_middle() const noexcept { return *middle_; }
  const BoundList& bound_norms() const noexcept { return *norms_; }
  const BoundList& bound_update() const noexcept { return *update_; }

 private:
  void run_with_plant(const BoundList& bound, const List& list);

  EngineOptions options_;
  kernels::Device& device_;
  collectives::Communicator& group_;
  Program program_;
  ParameterStore store_;
  StepMemory memory_;
  kernels::AdamwStep step_;
  std::unique_ptr<BoundList> first_;
  std::unique_ptr<BoundList> middle_;
  std::unique_ptr<BoundList> last_;
  std::unique_ptr<BoundList> only_;
  std::unique_ptr<BoundList> norms_;
  std::unique_ptr<BoundList> update_;
  std::unique_ptr<BoundList> evaluate_;
  int planted_ = -1;
};

}  // namespace muster::runtime
