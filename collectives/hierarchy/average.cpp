#include "collectives/hierarchy/average.hpp"

#include <cstring>

#include "kernels/base/half.hpp"

namespace muster::collectives {
namespace {

// Elements may lie at any address.
template <typename T, typename Divide>
void for_each(TensorView data, const Divide& quotient) {
  for (std::int64_t i = 0; i < data.count(); ++i) {
    std::byte* const at = data.data + static_cast<std::size_t>(i) * sizeof(T);
    T value;
    std::memcpy(&value, at, sizeof(T));
    value = quotient(value);
    std::memcpy(at, &value, sizeof(T));
  }
}

template <typename T>
void divide_whole(TensorView data, int n) {
  for_each<T>(data, [n](T value) { return static_cast<T>(value / static_cast<std::int64_t>(n)); });
}

template <typename T>
void divide_half(TensorView data, int n) {
  const auto divisor = static_cast<float>(n);
  for_each<T>(data, [divisor](T value) { return T(static_cast<float>(value) / divisor); });
}

}  // namespace

void divide(TensorView data, int n) {
  switch (data.dtype) {
    case Dtype::f64: return for_each<double>(data, [n](double value) { return value / n; });
    case Dtype::f32:
      return for_each<float>(
          data, [divisor = static_cast<float>(n)](float value) { return value / divisor; });
    case Dtype::f16: return divide_half<Half>(data, n);
    case Dtype::bf16: return divide_half<Bfloat16>(data, n);
    case Dtype::i64: return divide_whole<std::int64_t>(data, n);
    case Dtype::i32: return divide_whole<std::int32_t>(data, n);
    case Dtype::i8: return divide_whole<std::int8_t>(data, n);
    case Dtype::u8: return divide_whole<std::uint8_t>(data, n);
  }
}

}  // namespace muster::collectives
