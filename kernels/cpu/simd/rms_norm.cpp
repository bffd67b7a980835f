#include "kernels/ops/rms_norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// Rows whose dgain is summed together; fixed, so that threads cannot change the order of the sum.
constexpr std::int64_t kGainRows = 16;

/// total[c] = a[c] + b[c] rounded to T; returns the sum of the squares of what was stored.
template <typename T>
float add_and_square(T* total, const T* a, const T* b, std::int64_t n) {
  Floats squares = Floats::zero();
  for_each_register(n, [&](auto lanes, std::int64_t c) {
    const Floats x = rounded_to<T>(lanes.load(a + c) + lanes.load(b + c));
    lanes.store(total + c, x);
    squares = fma(x, x, squares);
  });
  return sum(squares);
}

template <typename T>
float square(const T* x, std::int64_t n) {
  Floats squares = Floats::zero();
  for_each_register(n, [&](auto lanes, std::int64_t c) {
    const Floats value = lanes.load(x + c);
    squares = fma(value, value, squares);
  });
  return sum(squares);
}

template <typename T>
void normalise(T* y, const T* x, const T* gain, float rstd, std::int64_t n) {
  const Floats scale = Floats::set(rstd);
  for_each_register(n, [&](auto lanes, std::int64_t c) {
    const Floats unit = rounded_to<T>(lanes.load(x + c) * scale);
    lanes.store(y + c, unit * lanes.load(gain + c));
  });
}

template <typename T>
void rms_norm_row(const RmsNormArgs& args, std::int64_t row) {
  const std::int64_t n = args.x.cols;
  const bool has_addend = !args.addend.is_none();
  const T* const x = has_addend ? args.sum.row<T>(row) : args.x.row<T>(row);
  const float squares = has_addend ? add_and_square(args.sum.row<T>(row), args.x.row<T>(row),
                                                    args.addend.row<T>(row), n)
                                   : square(x, n);
  const float rstd = 1.0F / std::sqrt(squares / static_cast<float>(n) + args.eps);
  if (!args.rstd.is_none()) args.rstd.row<float>(0)[row] = rstd;
  normalise(args.y.row<T>(row), x, args.gain.row<T>(0), rstd, n);
}

/// One row of the backward; returns nothing, adds to dgain unless that is null.
template <typename T>
struct BackwardRow {
  T* dx;
  const T* dy;
  const T* x;
  const T* gain;
  const T* addend;  // null when there is none
  float rstd;
  std::int64_t n;

  /// The mean over the row of dy * gain * xhat.
  float mean_product() const {
    const Floats scale = Floats::set(rstd);
    Floats total = Floats::zero();
    for_each_register(n, [&](auto lanes, std::int64_t c) {
      const Floats g = lanes.load(dy + c) * lanes.load(gain + c);
      total = fma(g, lanes.load(x + c) * scale, total);
    });
    return sum(total) / static_cast<float>(n);
  }

  void run(float* dgain) const {
    const Floats scale = Floats::set(rstd);
    const Floats mean = Floats::set(mean_product());
    for_each_register(n, [&](auto lanes, std::int64_t c) {
      const Floats slope = lanes.load(dy + c);
      const Floats xhat = lanes.load(x + c) * scale;
      Floats result = scale * (slope * lanes.load(gain + c) - xhat * mean);
      if (addend != nullptr) result = result + lanes.load(addend + c);
      if (dgain != nullptr) lanes.store(dgain + c, fma(slope, xhat, lanes.load(dgain + c)));
      lanes.store(dx + c, result);
    });
  }
};

template <typename T>
void backward_row(const RmsNormBackwardArgs& args, std::int64_t row, float* dgain) {
  BackwardRow<T>{args.dx.row<T>(row),
                 args.dy.row<T>(row),
                 args.x.row<T>(row),
                 args.gain.row<T>(0),
                 args.addend.is_none() ? nullptr : args.addend.row<T>(row),
                 args.rstd.row<float>(0)[row],
                 args.x.cols}
      .run(dgain);
}

/// dgain[c] (+)= the sum of `blocks` rows of `partial`, in order.
void add_blocks(const RmsNormBackwardArgs& args, const float* partial, std::int64_t blocks,
                std::int64_t begin, std::int64_t end) {
  float* const dgain = args.dgain.row<float>(0);
  for_each_register(end - begin, [&](auto lanes, std::int64_t offset) {
    const std::int64_t c = begin + offset;
    Floats total = args.accumulate ? lanes.load(dgain + c) : Floats::zero();
    for (std::int64_t b = 0; b < blocks; ++b)
      total = total + lanes.load(partial + b * args.x.cols + c);
    lanes.store(dgain + c, total);
  });
}

template <typename T>
void rms_norm_backward_typed(Device& device, const RmsNormBackwardArgs& args) {
  const std::int64_t blocks = (args.x.rows + kGainRows - 1) / kGainRows;
  const std::int64_t cols = args.x.cols;
  float* partial = nullptr;
  if (!args.dgain.is_none()) {
    const auto bytes = static_cast<std::size_t>(blocks * cols) * sizeof(float);
    partial = reinterpret_cast<float*>(device.scratch(bytes).data());
  }
  parallel_for(device.threads(), blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      float* const dgain = partial == nullptr ? nullptr : partial + b * cols;
      if (dgain != nullptr) std::fill_n(dgain, cols, 0.0F);
      const std::int64_t last = std::min(args.x.rows, (b + 1) * kGainRows);
      for (std::int64_t r = b * kGainRows; r < last; ++r) backward_row<T>(args, r, dgain);
    }
  });
  if (partial == nullptr) return;
  parallel_for(device.threads(), cols, 256, [&](std::int64_t begin, std::int64_t end) {
    add_blocks(args, partial, blocks, begin, end);
  });
}

}  // namespace

void rms_norm(Device& device, const RmsNormArgs& args) {
  with_float(args.x.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.x.rows, rows_worth_a_thread(args.x.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) rms_norm_row<T>(args, r);
                 });
  });
}

void rms_norm_backward(Device& device, const RmsNormBackwardArgs& args) {
  with_float(args.x.dtype, [&](auto type) {
    rms_norm_backward_typed<typename decltype(type)::type>(device, args);
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
