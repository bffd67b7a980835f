#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::test {

/// An owned matrix in host memory whose elements are read and written as doubles. Whatever is not
/// an element (the gap behind each row, and a margin on both sides) holds a pattern, so that a
/// kernel that writes beside its output is found out.
class Tensor {
 public:
  Tensor(Dtype dtype, std::int64_t rows, std::int64_t cols, std::int64_t gap = 0);

  TensorView view() noexcept { return {begin(), dtype_, rows_, cols_, stride_}; }
  ConstTensorView view() const noexcept { return {begin(), dtype_, rows_, cols_, stride_}; }

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }
  Dtype dtype() const noexcept { return dtype_; }

  double at(std::int64_t row, std::int64_t col) const;
  /// Rounds `value` to the dtype as a kernel must: by way of f32 for 16-bit floats.
  void set(std::int64_t row, std::int64_t col, double value);

  /// Standard normal values, a function of `key` alone.
  Tensor& fill_normal(std::uint64_t key);
  /// Whole numbers in [-limit, limit] ([0, limit] for u8), a function of `key` alone.
  Tensor& fill_integers(std::uint64_t key, std::int64_t limit);

  bool margins_are_untouched() const;

 private:
  const std::byte* begin() const noexcept { return bytes_.data() + kMargin; }
  std::byte* begin() noexcept { return bytes_.data() + kMargin; }

  static constexpr std::size_t kMargin = 64;
  Dtype dtype_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t stride_;
  std::vector<std::byte> bytes_;
};

/// `value` rounded to `dtype` as kernels round: to f32, then to the 16-bit float.
double rounded(double value, Dtype dtype);

/// One unit in the last place of the dtype at 1: 2^-23 for f32, 2^-10 for f16, 2^-7 for bf16.
double epsilon(Dtype dtype);

/// The instruction sets this processor has kernels for: what a suite is instantiated with.
std::vector<std::string> supported_isas();

/// `wanted` threads; one under the thread sanitizer, which does not know the barriers of OpenMP's
/// run-time library and takes every use of a team for a race.
int team_size(int wanted);

/// A CPU device with team_size(threads) threads whose kernels are those of `isa`.
std::unique_ptr<kernels::Device> open_cpu(std::string_view isa, int threads = 1);

/// Whether the two hold the same elements, bit for bit.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace muster::test
