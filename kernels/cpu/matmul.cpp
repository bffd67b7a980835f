#include "kernels/cpu/matmul.hpp"

#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/gemm_library.hpp"

namespace muster::kernels::cpu {
namespace {

/// Of a single row the stride says nothing: equal problems shall compare equal.
std::int64_t meaningful_stride(const ConstTensorView& view) noexcept {
  return view.rows <= 1 ? view.cols : view.stride;
}

GemmProblem problem_of(const MatmulArgs& args) noexcept {
  return {.m = args.c.rows,
          .n = args.c.cols,
          .k = args.transpose_a ? args.a.rows : args.a.cols,
          .a_stride = meaningful_stride(args.a),
          .b_stride = meaningful_stride(args.b),
          .c_stride = meaningful_stride(args.c),
          .input = args.a.dtype,
          .output = args.c.dtype,
          .transpose_a = args.transpose_a,
          .transpose_b = args.transpose_b,
          .accumulate = args.accumulate,
          .has_bias = !args.bias.is_none()};
}

/// The same product on contiguous f32 copies of everything that is not f32.
GemmProblem f32_problem_of(const MatmulArgs& args) noexcept {
  GemmProblem problem = problem_of(args);
  problem.a_stride = args.a.cols;
  problem.b_stride = args.b.cols;
  if (args.c.dtype != Dtype::f32) problem.c_stride = args.c.cols;
  problem.input = Dtype::f32;
  problem.output = Dtype::f32;
  return problem;
}

std::size_t f32_bytes(const ConstTensorView& view) noexcept {
  return (static_cast<std::size_t>(view.count()) * sizeof(float) + 63) / 64 * 64;
}

/// Hands out contiguous f32 matrices one behind the other.
class Cutter {
 public:
  explicit Cutter(std::byte* begin) : next_(begin) {}

  TensorView take(const ConstTensorView& like) noexcept {
    const TensorView view(next_, Dtype::f32, like.rows, like.cols);
    next_ += f32_bytes(like);
    return view;
  }
  std::byte* rest() const noexcept { return next_; }

 private:
  std::byte* next_;
};

void matmul_in_f32(CpuDevice& device, const MatmulArgs& args) {
  const bool has_f32_output = args.c.dtype == Dtype::f32;
  Gemm& gemm = device.gemm_library().find(f32_problem_of(args));
  const std::size_t copies = f32_bytes(args.a) + f32_bytes(args.b) + f32_bytes(args.bias) +
                             (has_f32_output ? 0 : f32_bytes(args.c));
  Cutter cutter(device.scratch(copies + gemm.scratch_bytes()).data());
  const OpTable& ops = device.ops();
  const auto widen = [&](const ConstTensorView& view) {
    const TensorView copy = cutter.take(view);
    ops.cast(device, {copy, view});
    return copy;
  };

  const TensorView a = widen(args.a);
  const TensorView b = widen(args.b);
  const TensorView bias = args.bias.is_none() ? TensorView() : widen(args.bias);
  const TensorView c = has_f32_output ? args.c : cutter.take(args.c);
  if (!has_f32_output && args.accumulate) ops.cast(device, {c, args.c});
  gemm.run({c.data, a.data, b.data, bias.data, cutter.rest()});
  if (!has_f32_output) ops.cast(device, {args.c, c});
}

}  // namespace

void matmul(Device& device, const MatmulArgs& args) {
  auto& cpu = static_cast<CpuDevice&>(device);  // only a CpuDevice has this kernel in its table
  if (!cpu.gemm_library().is_native(args.a.dtype)) return matmul_in_f32(cpu, args);
  Gemm& gemm = cpu.gemm_library().find(problem_of(args));
  std::byte* const scratch = cpu.scratch(gemm.scratch_bytes()).data();
  gemm.run({args.c.data, args.a.data, args.b.data, args.bias.data, scratch});
}

}  // namespace muster::kernels::cpu
