#include "kernels/ops/rope.hpp"

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// One head of one token: low and high are its two halves.
template <typename T>
void rotate(T* head, const float* cos, const float* sin, std::int64_t half, float sign) {
  T* const high = head + half;
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = static_cast<float>(head[i]);
    const float b = static_cast<float>(high[i]);
    const float s = sign * sin[i];
    head[i] = T(a * cos[i] - b * s);
    high[i] = T(b * cos[i] + a * s);
  }
}

}  // namespace

void rope(Device& device, const RopeArgs& args) {
  const auto* positions = args.positions.row<std::int32_t>(0);
  const std::int64_t half = args.head_dim / 2;
  const float sign = args.inverse ? -1.0F : 1.0F;
  with_float(args.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.x.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const float* const cos = args.cos.row<float>(positions[t]);
        const float* const sin = args.sin.row<float>(positions[t]);
        for (std::int64_t c = 0; c < args.x.cols; c += args.head_dim) {
          rotate(args.x.row<T>(t) + c, cos, sin, half, sign);
        }
      }
    });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
