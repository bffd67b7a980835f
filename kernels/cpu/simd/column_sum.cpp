#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/simd.hpp"
#include "kernels/ops/matmul.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr std::int64_t kRows = 16;  // added in registers before they go to the sum in memory

/// out[c] += the sum of n rows, for columns [begin, end). The rows are read side by side, each from
/// left to right, which a prefetcher follows; sums of few summands are added to sums of few.
template <typename T>
void add_rows(const ConstTensorView& x, std::int64_t first_row, std::int64_t n, float* out,
              std::int64_t begin, std::int64_t end) {
  for (std::int64_t c = begin; c < end; c += kWidth) {
    const std::int64_t width = std::min<std::int64_t>(kWidth, end - c);
    const auto load_some = [&](const auto* p) {
      return width == kWidth ? load(p) : load_first(p, width);
    };
    Floats sum = load_some(x.row<T>(first_row) + c);
    for (std::int64_t r = 1; r < n; ++r) sum = sum + load_some(x.row<T>(first_row + r) + c);
    store_first(out + c, load_some(out + c) + sum, width);
  }
}

}  // namespace

void column_sum(Device& device, const ColumnSumArgs& args) {
  const ConstTensorView& x = args.x;
  float* const out = args.out.row<float>(0);
  with_float(x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    // Cut by columns, so that threads cannot change the order of a sum.
    parallel_for(device.threads(), x.cols, 64, [&](std::int64_t begin, std::int64_t end) {
      if (!args.accumulate) std::fill(out + begin, out + end, 0.0F);
      for (std::int64_t row = 0; row < x.rows; row += kRows) {
        add_rows<T>(x, row, std::min(kRows, x.rows - row), out, begin, end);
      }
    });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
