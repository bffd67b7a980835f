#include "kernels/ops/rope.hpp"

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// One head of one token, its halves [head, head + half) and [head + half, head + 2 half).
template <typename T>
void rotate(T* head, const float* cos, const float* sin, std::int64_t half, float sign) {
  const Floats direction = Floats::set(sign);
  for_each_register(half, [&](auto lanes, std::int64_t i) {
    const Floats low = lanes.load(head + i);
    const Floats high = lanes.load(head + half + i);
    const Floats c = lanes.load(cos + i);
    const Floats s = direction * lanes.load(sin + i);
    lanes.store(head + i, low * c - high * s);
    lanes.store(head + half + i, high * c + low * s);
  });
}

}  // namespace

void rope(Device& device, const RopeArgs& args) {
  const auto* positions = args.positions.row<std::int32_t>(0);
  const std::int64_t half = args.head_dim / 2;
  const float sign = args.inverse ? -1.0F : 1.0F;
  with_float(args.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.x.rows, rows_worth_a_thread(args.x.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t t = begin; t < end; ++t) {
                     const float* const cos = args.cos.row<float>(positions[t]);
                     const float* const sin = args.sin.row<float>(positions[t]);
                     T* const x = args.x.row<T>(t);
                     for (std::int64_t c = 0; c < args.x.cols; c += args.head_dim) {
                       rotate(x + c, cos, sin, half, sign);
                     }
                   }
                 });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
