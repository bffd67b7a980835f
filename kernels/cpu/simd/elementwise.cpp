#include "kernels/ops/elementwise.hpp"

#include <algorithm>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements: less than this is not worth a second thread

/// Calls fn(row, column, n) for runs of neighbouring elements that cover [rows, cols]; contiguous
/// matrices are one row, so that a tall thin one is cut as well as a wide one.
template <typename Function>
void for_each_run(Device& device, std::int64_t rows, std::int64_t cols, const Function& fn) {
  if (rows == 1) {
    parallel_for(device.threads(), cols, kGrain,
                 [&](std::int64_t begin, std::int64_t end) { fn(0, begin, end - begin); });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / cols);
  parallel_for(device.threads(), rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) fn(row, 0, cols);
  });
}

/// The same elements as one row, if they are neighbours.
template <typename View>
View flat(View view) {
  return {view.data, view.dtype, 1, view.count()};
}

template <typename T>
void add_run(T* c, const T* a, const T* b, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(c + i, load(a + i) + load(b + i));
  const std::int64_t rest = n - i;
  if (rest > 0) store_first(c + i, load_first(a + i, rest) + load_first(b + i, rest), rest);
}

template <typename To, typename From>
void cast_run(To* y, const From* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(y + i, load(x + i));
  const std::int64_t rest = n - i;
  if (rest > 0) store_first(y + i, load_first(x + i, rest), rest);
}

template <typename T>
void accumulate_run(float* sum, const T* addend, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) store(sum + i, load(sum + i) + load(addend + i));
  const std::int64_t rest = n - i;
  if (rest > 0)
    store_first(sum + i, load_first(sum + i, rest) + load_first(addend + i, rest), rest);
}

/// `value` as an element; a floating type rounds to nearest by way of f32.
template <typename T>
T element_from(double value) {
  if constexpr (std::is_same_v<T, Bfloat16> || std::is_same_v<T, Half>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
void fill_typed(Device& device, const FillArgs& args) {
  const TensorView x = args.x.is_contiguous() ? flat(args.x) : args.x;
  const T value = element_from<T>(args.value);
  for_each_run(device, x.rows, x.cols, [&](std::int64_t row, std::int64_t column, std::int64_t n) {
    T* const begin = x.row<T>(row) + column;
    std::fill(begin, begin + n, value);
  });
}

}  // namespace

void add(Device& device, const AddArgs& args) {
  const bool is_flat = args.a.is_contiguous() && args.b.is_contiguous() && args.c.is_contiguous();
  const TensorView c = is_flat ? flat(args.c) : args.c;
  const ConstTensorView a = is_flat ? flat(args.a) : args.a;
  const ConstTensorView b = is_flat ? flat(args.b) : args.b;
  with_float(c.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_run(device, c.rows, c.cols, [&](std::int64_t r, std::int64_t i, std::int64_t n) {
      add_run(c.row<T>(r) + i, a.row<T>(r) + i, b.row<T>(r) + i, n);
    });
  });
}

void cast(Device& device, const CastArgs& args) {
  const bool is_flat = args.y.is_contiguous() && args.x.is_contiguous();
  const TensorView y = is_flat ? flat(args.y) : args.y;
  const ConstTensorView x = is_flat ? flat(args.x) : args.x;
  with_float(y.dtype, [&](auto to) {
    using To = typename decltype(to)::type;
    with_float(x.dtype, [&](auto from) {
      using From = typename decltype(from)::type;
      for_each_run(device, y.rows, y.cols, [&](std::int64_t r, std::int64_t i, std::int64_t n) {
        if constexpr (std::is_same_v<To, From>) {
          std::memcpy(y.row<To>(r) + i, x.row<To>(r) + i, static_cast<std::size_t>(n) * sizeof(To));
        } else {
          cast_run(y.row<To>(r) + i, x.row<From>(r) + i, n);
        }
      });
    });
  });
}

void fill(Device& device, const FillArgs& args) {
  switch (args.x.dtype) {
    case Dtype::f64: return fill_typed<double>(device, args);
    case Dtype::f32: return fill_typed<float>(device, args);
    case Dtype::f16: return fill_typed<Half>(device, args);
    case Dtype::bf16: return fill_typed<Bfloat16>(device, args);
    case Dtype::i64: return fill_typed<std::int64_t>(device, args);
    case Dtype::i32: return fill_typed<std::int32_t>(device, args);
    case Dtype::i8: return fill_typed<std::int8_t>(device, args);
    case Dtype::u8: return fill_typed<std::uint8_t>(device, args);
  }
}

void accumulate(Device& device, const AccumulateArgs& args) {
  const bool is_flat = args.sum.is_contiguous() && args.addend.is_contiguous();
  const TensorView sum = is_flat ? flat(args.sum) : args.sum;
  const ConstTensorView addend = is_flat ? flat(args.addend) : args.addend;
  with_float(addend.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for_each_run(device, sum.rows, sum.cols, [&](std::int64_t r, std::int64_t i, std::int64_t n) {
      accumulate_run(sum.row<float>(r) + i, addend.row<T>(r) + i, n);
    });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
