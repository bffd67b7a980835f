#include "runtime/bench/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/bench/dispatch.hpp"

namespace muster::runtime {
namespace {

using kernels::ReduceOp;

constexpr int kScaledRanks = 4;  // of a product: their powers of two stay within f16's range

/// splitmix64 of Steele, Lea and Flood: 64 well mixed bits of a counter.
constexpr std::uint64_t scatter_bits(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Integers up to 2^bits are exact in T.
template <typename T>
constexpr int kExactBits = 40;
template <>
constexpr int kExactBits<float> = 24;
template <>
constexpr int kExactBits<Half> = 11;
template <>
constexpr int kExactBits<Bfloat16> = 8;
template <>
constexpr int kExactBits<std::int32_t> = 30;
template <>
constexpr int kExactBits<std::int8_t> = 7;
template <>
constexpr int kExactBits<std::uint8_t> = 8;

template <typename T>
constexpr bool kIsWhole = std::is_integral_v<T>;
template <typename T>
constexpr bool kIsSigned = !std::is_same_v<T, std::uint8_t>;

/// One element across all ranks. Values are doubles: all of them are exact there.
template <typename T>
class Element {
 public:
  static constexpr std::int64_t kHalf = std::int64_t{1} << (kExactBits<T> - 1);

  Element(const InputPattern& pattern, std::int64_t index) noexcept
      : ranks_(pattern.ranks),
        bits_(scatter_bits(pattern.seed ^ scatter_bits(static_cast<std::uint64_t>(index)))) {}

  double moved(int rank) const noexcept {
    const std::uint64_t bits = scatter_bits(bits_ + static_cast<std::uint64_t>(rank));
    return sign(bits) * static_cast<double>(bits % static_cast<std::uint64_t>(2 * kHalf - 1));
  }

  double input(ReduceOp op, int rank) const noexcept {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg: return share(rank);
      case ReduceOp::prod: return factor(part(rank));
      case ReduceOp::max: return extreme(true) - distance(part(rank));
      case ReduceOp::min: return extreme(false) + distance(part(rank));
    }
    return 0.0;
  }

  double result(ReduceOp op) const noexcept {
    switch (op) {
      case ReduceOp::sum: return unit() * static_cast<double>(total());
      case ReduceOp::avg: return average();
      case ReduceOp::prod: return product();
      case ReduceOp::max: return extreme(true);
      case ReduceOp::min: return extreme(false);
    }
    return 0.0;
  }

 private:
  static double sign(std::uint64_t bits) noexcept {
    return kIsSigned<T> && (bits >> 63) != 0 ? -1.0 : 1.0;
  }
  /// Which part of the element this rank has: a rotation that differs from element to element.
  int part(int rank) const noexcept {
    const auto turn = static_cast<int>((bits_ >> 40) % static_cast<std::uint64_t>(ranks_));
    return (rank + turn) % ranks_;
  }
  std::int64_t total() const noexcept {
    return kHalf + static_cast<std::int64_t>(bits_ % static_cast<std::uint64_t>(kHalf));
  }
  double unit() const noexcept {
    const int power = kIsWhole<T> ? 0 : static_cast<int>(bits_ >> 60 & 3U) - 1;
    return std::ldexp(sign(bits_), power);
  }
  double share(int rank) const noexcept {
    const std::int64_t at = part(rank);
    const std::int64_t whole = total();
    const std::int64_t mine = whole * (at + 1) / ranks_ - whole * at / ranks_;
    return mine == 0 ? 0.0 : unit() * static_cast<double>(mine);  // no negative zero
  }
  double average() const noexcept {
    const double exact = unit() * static_cast<double>(total()) / ranks_;
    return kIsWhole<T> ? std::trunc(exact) + 0.0 : exact;
  }
  double factor(int at) const noexcept {
    if (at == 0 && kIsWhole<T>) return sign(bits_) * static_cast<double>(bits_ % 3 + 1);
    if (at == 0) return sign(bits_) * static_cast<double>(total()) / static_cast<double>(kHalf);
    if (at > kScaledRanks) return 1.0;
    const bool is_set = (bits_ >> (32 + at) & 1U) != 0;
    return is_set ? 2.0 : (kIsWhole<T> ? 1.0 : 0.5);
  }
  double product() const noexcept {
    double value = 1.0;
    for (int at = 0; at < std::min(ranks_, kScaledRanks + 1); ++at) value *= factor(at);
    return value;
  }
  double extreme(bool is_max) const noexcept {
    const auto offset = static_cast<double>(bits_ % static_cast<std::uint64_t>(kHalf));
    if (!kIsSigned<T>) return is_max ? offset + static_cast<double>(kHalf) : offset;
    return std::trunc(sign(bits_) * offset / 2.0) + 0.0;  // no negative zero
  }
  double distance(int at) const noexcept {
    if (at == 0) return 0.0;
    const std::uint64_t bits = scatter_bits(bits_ ^ static_cast<std::uint64_t>(at));
    return static_cast<double>(1 + bits % static_cast<std::uint64_t>(kHalf - 1));
  }

  int ranks_;
  std::uint64_t bits_;
};

}  // namespace

void fill_pattern(const InputPattern& pattern, int origin, std::int64_t first, TensorView out) {
  visit_dtype(pattern.dtype, [&]<typename T>(std::type_identity<T>) {
    T* const elements = out.template row<T>(0);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const Element<T> element(pattern, first + i);
      const double value = !pattern.op          ? element.moved(origin)
                           : origin == kReduced ? element.result(*pattern.op)
                                                : element.input(*pattern.op, origin);
      elements[i] = from_double<T>(value);
    }
  });
}

}  // namespace muster::runtime
