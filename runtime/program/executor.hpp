#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/base/memory.hpp"
#include "kernels/device/device.hpp"
#include "runtime/program/liveness.hpp"
#include "runtime/program/model.hpp"
#include "runtime/program/op_kind.hpp"
#include "runtime/program/parameter_store.hpp"

namespace muster::runtime {

/// The fixed memory a step runs in, beside the parameters: the arena, the frame, the tables of the
/// family and the accumulators. Addresses never change, so bound lists stay valid.
class StepMemory {
 public:
  struct Sizes {
    std::int64_t arena_bytes = 0;
    std::int64_t tokens = 0;
    std::int64_t parameters = 0;
  };

  /// `shared` holds the arena (collective there), `device` the rest.
  StepMemory(const Sizes& sizes, const std::vector<Constant>& constants, MemorySource& device,
             MemorySource& shared);

  TensorView arena_view(std::int64_t offset, const Value& value) const;
  TensorView frame(FrameField field) const { return frame_[static_cast<std::size_t>(field)]; }
  TensorView constant(int index) const { return constants_[static_cast<std::size_t>(index)]; }
  TensorView state(StateField field) const { return state_[static_cast<std::size_t>(field)]; }

  /// Copies a field of the next micro-batch in; i32, as many as the micro-batch has tokens.
  void fill(FrameField field, std::span<const std::int32_t> values);
  void set_loss_seed(float seed);
  double loss() const;
  /// {sum of squares, found-inf} of one parameter.
  std::array<double, 2> norm(StateField field, int parameter) const;

  std::int64_t bytes() const noexcept { return bytes_; }
  /// Bytes that were allocated for the arena.
  std::int64_t arena_bytes() const noexcept {
    return static_cast<std::int64_t>(blocks_.front().bytes());
  }

 private:
  TensorView take(MemorySource& source, Dtype dtype, std::int64_t rows, std::int64_t cols);

  std::vector<Memory> blocks_;
  std::byte* arena_ = nullptr;
  std::array<TensorView, kFrameFields> frame_;
  std::array<TensorView, kStateFields> state_;
  std::vector<TensorView> constants_;
  std::int64_t bytes_ = 0;
};

/// What lists are bound to.
struct Resources {
  kernels::Device& device;
  collectives::Communicator& data_group;
  const ParameterStore& store;
  const StepMemory& memory;
  const kernels::AdamwStep* update = nullptr;
  double comm_timeout_s = 100.0;
};

/// A list that is ready to run.
class BoundList {
 public:
  /// `plan` gives computed values their places; it may be that of another list with the same
  /// values first.
  BoundList(const List& list, const ArenaPlan& plan, const Resources& resources);

  /// Runs every op in order on the calling thread.
  void run() const {
    for (const BoundOp& op : ops_) op();
  }
  std::span<const BoundOp> ops() const noexcept { return ops_; }

 private:
  std::vector<BoundOp> ops_;
};

}  // namespace muster::runtime
