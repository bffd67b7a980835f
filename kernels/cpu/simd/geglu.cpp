#include "kernels/ops/geglu.hpp"

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/sigmoid.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr float kSqrt8OverPi = 1.5957691216057308F;  // twice the root of 2 / pi
constexpr float kCubic = 0.044715F;

/// s with gelu(z) = z * s.
Floats gate_of(Floats z) {
  const Floats cubic = fma(z * z, Floats::set(kCubic), Floats::set(1.0F));
  return sigmoid(Floats::set(kSqrt8OverPi) * z * cubic);
}

template <typename T>
void geglu_row(T* h, const T* gate, const T* up, std::int64_t n) {
  for_each_register(n, [&](auto lanes, std::int64_t c) {
    const Floats z = lanes.load(gate + c);
    lanes.store(h + c, z * gate_of(z) * lanes.load(up + c));
  });
}

template <typename T>
void geglu_backward_row(const GegluBackwardArgs& args, std::int64_t row) {
  T* const dgate = args.dgate.row<T>(row);
  T* const dup = args.dup.row<T>(row);
  const T* const dh = args.dh.row<T>(row);
  const T* const gate = args.gate.row<T>(row);
  const T* const up = args.up.row<T>(row);
  const Floats one = Floats::set(1.0F);
  for_each_register(args.dh.cols, [&](auto lanes, std::int64_t c) {
    const Floats slope = lanes.load(dh + c);
    const Floats z = lanes.load(gate + c);
    const Floats u = lanes.load(up + c);
    const Floats s = gate_of(z);
    const Floats bend = fma(z * z, Floats::set(3.0F * kCubic), one);
    const Floats slope_of_s = Floats::set(kSqrt8OverPi) * bend * (one - s);
    lanes.store(dgate + c, slope * u * s * fma(z, slope_of_s, one));
    lanes.store(dup + c, slope * z * s);
  });
}

}  // namespace

void geglu(Device& device, const GegluArgs& args) {
  with_float(args.h.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.h.rows, rows_worth_a_thread(args.h.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     geglu_row(args.h.row<T>(r), args.gate.row<T>(r), args.up.row<T>(r),
                               args.h.cols);
                   }
                 });
  });
}

void geglu_backward(Device& device, const GegluBackwardArgs& args) {
  with_float(args.dh.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.dh.rows, rows_worth_a_thread(args.dh.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) geglu_backward_row<T>(args, r);
                 });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
