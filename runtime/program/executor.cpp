#include "runtime/program/executor.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

/// Resolves the values of one list.
class ListBinding final : public Binding {
 public:
  ListBinding(const List& list, const ArenaPlan& plan, const Resources& resources)
      : list_(list), plan_(plan), resources_(resources) {}

  TensorView view(ValueId id) const override {
    if (id == kNone) return {};
    const Value& value = list_.value(id);
    if (value.base == kNone) return root_view(id, value);
    const TensorView base = view(value.base);
    return base.rows_from(value.row_begin, value.rows).cols_from(value.col_begin, value.cols);
  }

  kernels::Device& device() const override { return resources_.device; }
  collectives::Communicator& data_group() const override { return resources_.data_group; }
  const kernels::AdamwStep* update() const override { return resources_.update; }
  double comm_timeout_s() const override { return resources_.comm_timeout_s; }

 private:
  TensorView root_view(ValueId id, const Value& value) const {
    switch (value.origin) {
      case Origin::computed:
        return resources_.memory.arena_view(plan_.offsets[static_cast<std::size_t>(id)], value);
      case Origin::frame: return resources_.memory.frame(static_cast<FrameField>(value.index));
      case Origin::constant: return resources_.memory.constant(value.index);
      case Origin::state: return resources_.memory.state(static_cast<StateField>(value.index));
      case Origin::unit: return resources_.store.unit_gradients(value.index);
      default: return as_listed(resources_.store.view(value.origin, value.index), value);
    }
  }

  /// The optimiser's lists see a parameter as one row.
  static TensorView as_listed(TensorView view, const Value& value) {
    MUSTER_ASSERT(view.count() == value.count() && view.dtype == value.dtype);
    return {view.data, view.dtype, value.rows, value.cols};
  }

  const List& list_;
  const ArenaPlan& plan_;
  const Resources& resources_;
};

}  // namespace

StepMemory::StepMemory(const Sizes& sizes, const std::vector<Constant>& constants,
                       MemorySource& device, MemorySource& shared) {
  arena_ = take(shared, Dtype::u8, 1, sizes.arena_bytes).data;
  for (TensorView& field : frame_) field = take(device, Dtype::i32, 1, sizes.tokens);
  frame_[static_cast<std::size_t>(FrameField::loss_seed)] = take(device, Dtype::f32, 1, 1);
  state_[static_cast<std::size_t>(StateField::loss)] = take(device, Dtype::f64, 1, 1);
  state_[static_cast<std::size_t>(StateField::own_norms)] =
      take(device, Dtype::f64, sizes.parameters, 2);
  state_[static_cast<std::size_t>(StateField::norms)] =
      take(device, Dtype::f64, sizes.parameters, 2);
  for (const Constant& constant : constants) {
    constants_.push_back(take(device, Dtype::f32, constant.rows, constant.cols));
    std::memcpy(constants_.back().data, constant.values.data(), constants_.back().bytes());
  }
}

TensorView StepMemory::take(MemorySource& source, Dtype dtype, std::int64_t rows,
                            std::int64_t cols) {
  const TensorView shape(nullptr, dtype, rows, cols);
  blocks_.push_back(source.allocate(shape.bytes(), "the step"));
  blocks_.back().touch();
  bytes_ += static_cast<std::int64_t>(shape.bytes());
  return {blocks_.back().data(), dtype, rows, cols};
}

TensorView StepMemory::arena_view(std::int64_t offset, const Value& value) const {
  MUSTER_ASSERT(offset >= 0);
  return {arena_ + offset, value.dtype, value.rows, value.cols};
}

void StepMemory::fill(FrameField field, std::span<const std::int32_t> values) {
  const TensorView view = frame(field);
  MUSTER_ASSERT(static_cast<std::int64_t>(values.size()) == view.cols);
  std::copy(values.begin(), values.end(), view.row<std::int32_t>(0));
}

void StepMemory::set_loss_seed(float seed) {
  *frame(FrameField::loss_seed).row<float>(0) = seed;
}

double StepMemory::loss() const {
  return *state(StateField::loss).row<double>(0);
}

std::array<double, 2> StepMemory::norm(StateField field, int parameter) const {
  const double* row = state(field).row<double>(parameter);
  return {row[0], row[1]};
}

BoundList::BoundList(const List& list, const ArenaPlan& plan, const Resources& resources) {
  const ListBinding binding(list, plan, resources);
  ops_.reserve(list.ops.size());
  for (const Op& op : list.ops) ops_.push_back(op.kind->bind(binding, op));
}

}  // namespace muster::runtime
