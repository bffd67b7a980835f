#include "runtime/bench/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/bench/dispatch.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kPiece = 8192;  // elements that are compared at once: the copies stay in L2

/// Distance of neighbouring values of T around `value`, which is not zero.
template <typename T>
double unit_in_last_place(double value) noexcept {
  constexpr int kDigits = std::is_same_v<T, double>  ? 53
                          : std::is_same_v<T, float> ? 24
                          : std::is_same_v<T, Half>  ? 11
                                                     : 8;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, exponent - kDigits);
}

template <typename T>
bool is_right(const T& found, const T& expected, bool is_average) noexcept {
  // Bit by bit is meant: a negative zero or another NaN is wrong.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  if (std::memcmp(&found, &expected, sizeof(T)) == 0) return true;
  if (!is_average || std::is_integral_v<T>) return false;
  const double right = to_double(expected);
  return std::abs(to_double(found) - right) <= 2.0 * unit_in_last_place<T>(right);
}

/// Compares the parts of one output and counts.
template <typename T>
class Comparison {
 public:
  Comparison(const InputPattern& pattern, ConstTensorView out)
      : pattern_(pattern),
        out_(out),
        is_average_(pattern.op == kernels::ReduceOp::avg),
        expected_(static_cast<std::size_t>(kPiece)),
        found_(static_cast<std::size_t>(kPiece)) {}

  void compare(const Segment& segment) {
    for (std::int64_t done = 0; done < segment.count; done += kPiece) {
      const std::int64_t n = std::min(kPiece, segment.count - done);
      fill_pattern(pattern_, segment.origin, segment.first + done,
                   {reinterpret_cast<std::byte*>(expected_.data()), pattern_.dtype, 1, n});
      const std::int64_t begin = segment.begin + done;
      std::memcpy(found_.data(), out_.data + begin * static_cast<std::int64_t>(sizeof(T)),
                  static_cast<std::size_t>(n) * sizeof(T));
      for (std::int64_t i = 0; i < n; ++i) compare_element(begin + i, static_cast<std::size_t>(i));
    }
  }
  const WrongElements& wrong() const noexcept { return wrong_; }

 private:
  void compare_element(std::int64_t index, std::size_t at) {
    if (is_right(found_[at], expected_[at], is_average_)) return;
    if (wrong_.count++ > 0) return;
    wrong_.first_index = index;
    wrong_.found = to_double(found_[at]);
    wrong_.expected = to_double(expected_[at]);
  }

  InputPattern pattern_;
  ConstTensorView out_;
  bool is_average_;
  std::vector<T> expected_;
  std::vector<T> found_;
  WrongElements wrong_;
};

}  // namespace

std::string WrongElements::text() const {
  return fmt::format("{} wrong element{}, the first [{}] is {}, expected {}", count,
                     count == 1 ? "" : "s", first_index, found, expected);
}

WrongElements find_wrong(const InputPattern& pattern, std::span<const Segment> segments,
                         ConstTensorView out) {
  return visit_dtype(pattern.dtype, [&]<typename T>(std::type_identity<T>) {
    Comparison<T> comparison(pattern, out);
    for (const Segment& segment : segments) comparison.compare(segment);
    return comparison.wrong();
  });
}

}  // namespace muster::runtime
