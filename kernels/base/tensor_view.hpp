#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/base/dtype.hpp"

namespace muster {

/// A non-owning view of a row-major matrix [rows, cols] that may live on any device.
///
/// Row r begins `stride` elements after row r - 1 (stride >= cols), so a block of columns of a
/// wider matrix is a view too. A vector of n elements is [1, n], a scalar [1, 1]; a view without
/// data and elements means "none" where a parameter is optional. Passed by value, never stored
/// beyond a call.
template <typename Byte>
struct BasicTensorView {
  Byte* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;

  BasicTensorView() = default;
  BasicTensorView(Byte* data_in, Dtype dtype_in, std::int64_t rows_in, std::int64_t cols_in,
                  std::int64_t stride_in)
      : data(data_in), dtype(dtype_in), rows(rows_in), cols(cols_in), stride(stride_in) {}
  BasicTensorView(Byte* data_in, Dtype dtype_in, std::int64_t rows_in, std::int64_t cols_in)
      : BasicTensorView(data_in, dtype_in, rows_in, cols_in, cols_in) {}
  /// A mutable view is a const view as well.
  template <typename Other>
  requires(sizeof(Other) == 1)
      BasicTensorView(const BasicTensorView<Other>& other)  // NOLINT(google-explicit-constructor)
      : BasicTensorView(other.data, other.dtype, other.rows, other.cols, other.stride) {}

  bool is_none() const noexcept { return data == nullptr; }
  std::int64_t count() const noexcept { return rows * cols; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(count()) * size_of(dtype); }
  bool is_contiguous() const noexcept { return stride == cols || rows <= 1; }

  /// Row `row` as elements of type T. The caller has checked that T is the view's dtype.
  template <typename T>
  auto* row(std::int64_t index) const noexcept {
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    return reinterpret_cast<Element*>(data) + index * stride;
  }

  /// Rows [begin, begin + n).
  BasicTensorView rows_from(std::int64_t begin, std::int64_t n) const noexcept {
    return {offset(begin * stride), dtype, n, cols, stride};
  }
  /// Columns [begin, begin + n).
  BasicTensorView cols_from(std::int64_t begin, std::int64_t n) const noexcept {
    return {offset(begin), dtype, rows, n, stride};
  }

 private:
  Byte* offset(std::int64_t elements) const noexcept {
    return data + elements * static_cast<std::int64_t>(size_of(dtype));
  }
};

using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

/// A [1, n] view of `n` elements at `data`.
template <typename T>
TensorView vector_view(T* data, std::int64_t n) {
  return {reinterpret_cast<std::byte*>(data), dtype_of<T>, 1, n};
}
template <typename T>
ConstTensorView vector_view(const T* data, std::int64_t n) {
  return {reinterpret_cast<const std::byte*>(data), dtype_of<T>, 1, n};
}
/// A contiguous [rows, cols] view of the elements at `data`.
template <typename T>
TensorView matrix_view(T* data, std::int64_t rows, std::int64_t cols) {
  return {reinterpret_cast<std::byte*>(data), dtype_of<T>, rows, cols};
}
template <typename T>
ConstTensorView matrix_view(const T* data, std::int64_t rows, std::int64_t cols) {
  return {reinterpret_cast<const std::byte*>(data), dtype_of<T>, rows, cols};
}

/// "bf16[512, 288]", with "/stride" when rows are not adjacent.
std::string to_string(ConstTensorView view);

}  // namespace muster
