#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements summed as one, whatever the number of threads

/// Sum of the squares of n elements: 32 partial sums, element i to number i % 32, added in order,
/// so that every instruction set gives the same bits. An f32 squared is exact in f64.
template <typename T>
double block_sum(const T* x, std::int64_t n) {
  constexpr int kLanes = 32;
  constexpr int kVectors = kLanes / kWidth;
  Doubles low[kVectors];
  Doubles high[kVectors];
  std::fill_n(low, kVectors, Doubles::zero());
  std::fill_n(high, kVectors, Doubles::zero());
  const auto add = [&](int u, Floats values) {
    const Doubles a = low_half(values);
    const Doubles b = high_half(values);
    low[u] = fma(a, a, low[u]);
    high[u] = fma(b, b, high[u]);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int u = 0; u < kVectors; ++u) add(u, load(x + i + u * kWidth));
  }
  for (int u = 0; i < n; ++u, i += kWidth) {
    add(u, n - i >= kWidth ? load(x + i) : load_first(x + i, n - i));
  }
  alignas(64) double lanes[kLanes];
  for (int u = 0; u < kVectors; ++u) {
    store(lanes + u * kWidth, low[u]);
    store(lanes + u * kWidth + kWidth / 2, high[u]);
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

void norm_squared(Device& device, const NormSquaredArgs& args) {
  const bool is_flat = args.x.is_contiguous();
  const std::int64_t rows = is_flat ? 1 : args.x.rows;
  const std::int64_t cols = is_flat ? args.x.count() : args.x.cols;
  const std::int64_t blocks_per_row = (cols + kBlock - 1) / kBlock;
  const std::int64_t blocks = rows * blocks_per_row;
  auto* const sums = reinterpret_cast<double*>(
      device.scratch(static_cast<std::size_t>(blocks) * sizeof(double)).data());
  with_float(args.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t at = block % blocks_per_row * kBlock;
        const T* const x = args.x.row<T>(block / blocks_per_row) + at;
        sums[block] = block_sum(x, std::min(kBlock, cols - at));
      }
    });
  });
  double* const out = args.out.row<double>(0);
  double sum = 0.0;
  for (std::int64_t block = 0; block < blocks; ++block) sum += sums[block];
  if (!args.accumulate) std::fill_n(out, 2, 0.0);
  out[0] += sum;
  // No square of a finite f32 overflows f64, so the sum is finite exactly if all elements are.
  if (!std::isfinite(sum)) out[1] = 1.0;
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
