#include "collectives/average.hpp"

#include <type_traits>

#include "kernels/base/half.hpp"

namespace muster::collectives {
namespace {

template <typename T>
void divide_all(TensorView sums, int ranks) {
  using Float = std::conditional_t<sizeof(T) == 2, float, T>;
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, Float>;
  T* const values = reinterpret_cast<T*>(sums.data);
  const auto divisor = static_cast<Wide>(ranks);
  for (std::int64_t i = 0; i < sums.count(); ++i) {
    values[i] = static_cast<T>(static_cast<Wide>(values[i]) / divisor);
  }
}

}  // namespace

void divide(TensorView sums, int ranks) {
  switch (sums.dtype) {
    case Dtype::f64: return divide_all<double>(sums, ranks);
    case Dtype::f32: return divide_all<float>(sums, ranks);
    case Dtype::f16: return divide_all<Half>(sums, ranks);
    case Dtype::bf16: return divide_all<Bfloat16>(sums, ranks);
    case Dtype::i64: return divide_all<std::int64_t>(sums, ranks);
    case Dtype::i32: return divide_all<std::int32_t>(sums, ranks);
    case Dtype::i8: return divide_all<std::int8_t>(sums, ranks);
    case Dtype::u8: return divide_all<std::uint8_t>(sums, ranks);
  }
}

}  // namespace muster::collectives
