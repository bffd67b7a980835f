#include "kernels/ops/swiglu.hpp"

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/sigmoid.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

template <typename T>
void swiglu_row(T* h, const T* gate, const T* up, std::int64_t n) {
  for_each_register(n, [&](auto lanes, std::int64_t c) {
    const Floats z = lanes.load(gate + c);
    lanes.store(h + c, z * sigmoid(z) * lanes.load(up + c));
  });
}

template <typename T>
void swiglu_backward_row(const SwigluBackwardArgs& args, std::int64_t row) {
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
    const Floats s = sigmoid(z);
    lanes.store(dgate + c, slope * u * s * fma(z, one - s, one));
    lanes.store(dup + c, slope * z * s);
  });
}

}  // namespace

void swiglu(Device& device, const SwigluArgs& args) {
  with_float(args.h.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.h.rows, rows_worth_a_thread(args.h.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     swiglu_row(args.h.row<T>(r), args.gate.row<T>(r), args.up.row<T>(r),
                                args.h.cols);
                   }
                 });
  });
}

void swiglu_backward(Device& device, const SwigluBackwardArgs& args) {
  with_float(args.dh.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.dh.rows, rows_worth_a_thread(args.dh.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) swiglu_backward_row<T>(args, r);
                 });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
