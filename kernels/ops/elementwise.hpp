#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// c = a + b, in f32, rounded once. All [rows, cols] of one dtype; c may be a or b.
struct AddArgs {
  TensorView c;
  ConstTensorView a;
  ConstTensorView b;
};
void add(Device& device, const AddArgs& args);

/// y = x in another dtype (f32, f16, bf16), or the same: a copy. [rows, cols]; y aliases nothing.
struct CastArgs {
  TensorView y;
  ConstTensorView x;
};
void cast(Device& device, const CastArgs& args);

/// x = value everywhere. f32, f16, bf16, f64, i32, i64, u8, i8.
struct FillArgs {
  TensorView x;
  double value = 0.0;
};
void fill(Device& device, const FillArgs& args);

/// sum += addend. sum [rows, cols] f32; addend f32, f16 or bf16.
struct AccumulateArgs {
  TensorView sum;
  ConstTensorView addend;
};
void accumulate(Device& device, const AccumulateArgs& args);

}  // namespace muster::kernels
