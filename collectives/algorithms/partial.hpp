#pragma once

#include "collectives/call.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

/// Partial results: what travels where a sum is added up on the way. They are wider than the data,
/// so that rounding and the division of an average happen once, at the end.
namespace muster::collectives::algorithms {

/// The dtype of partial results: f32 for sums and products of 16-bit floats, i64 for averages of
/// integers, else the data's own.
Dtype partial_dtype(Dtype dtype, ReduceOp op) noexcept;

/// partial = the contribution of one rank.
void begin_partial(kernels::Device& device, TensorView partial, ConstTensorView contribution);

/// Which of two partial results covers the lower ranks: it comes first.
enum class Order { mine_first, theirs_first };

/// mine = both combined; an average is a sum until it is finished.
struct CombineArgs {
  TensorView mine;
  ConstTensorView theirs;
  Order order = Order::mine_first;
  ReduceOp op = ReduceOp::sum;
};
void combine(kernels::Device& device, const CombineArgs& args);

/// out = the result of `ranks` contributions, rounded. Spoils `partial`, which may be out.
struct FinishArgs {
  TensorView out;
  TensorView partial;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
};
void finish(kernels::Device& device, const FinishArgs& args);

}  // namespace muster::collectives::algorithms
