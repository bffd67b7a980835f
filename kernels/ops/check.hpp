#pragma once

#include <string_view>

#include "kernels/base/error.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// A view and the name of the argument it came in, for the texts of errors.
struct Argument {
  const char* name;
  ConstTensorView view;
};

/// Tells what is wrong with the arguments of one op: every function returns quietly or throws
/// Error(invalid_argument) naming the op, the arguments and their shapes. The functions compare a
/// few integers; texts are made on failure only, so a check costs nanoseconds.
class Check {
 public:
  explicit Check(const char* op) : op_(op) {}

  /// `a` is not "none", is a matrix (rows, cols >= 0; stride >= cols), and has elements in memory.
  void is_given(const Argument& a) const;
  void has_dtype(const Argument& a, Dtype dtype) const {
    if (a.view.dtype != dtype) wrong_dtype(a, to_string(dtype));
  }
  /// f32, f16 or bf16.
  void is_float(const Argument& a) const;
  void is_contiguous(const Argument& a) const {
    if (!a.view.is_contiguous()) not_contiguous(a);
  }
  void has_shape(const Argument& a, std::int64_t rows, std::int64_t cols) const {
    if (a.view.rows != rows || a.view.cols != cols) wrong_shape(a, rows, cols);
  }
  /// The same, where `like` is the argument that the wanted shape follows from.
  void has_shape(const Argument& a, std::int64_t rows, std::int64_t cols,
                 const Argument& like) const {
    if (a.view.rows != rows || a.view.cols != cols) wrong_shape(a, rows, cols, like);
  }
  void same_shape(const Argument& a, const Argument& b) const {
    has_shape(a, b.view.rows, b.view.cols, b);
  }
  void same_dtype(const Argument& a, const Argument& b) const {
    if (a.view.dtype != b.view.dtype) different_dtypes(a, b);
  }

  /// No element of `a` is an element of `b`.
  void disjoint(const Argument& a, const Argument& b) const;
  /// `a` is `b`, element for element, or disjoint from it.
  void same_or_disjoint(const Argument& a, const Argument& b) const;

  /// Any other rule; `describe` returns the text and runs on failure only.
  template <typename Describe>
  void that(bool holds, const Describe& describe) const {
    if (!holds) fail(describe());
  }

  /// The kernel of the device; Error(unsupported) if the device has none for this op.
  template <typename KernelPointer>
  KernelPointer kernel(const Device& device, KernelPointer pointer) const {
    if (pointer == nullptr) lacks_kernel(device);
    return pointer;
  }

 private:
  [[noreturn]] void fail(std::string_view text) const;
  [[noreturn]] void wrong_dtype(const Argument& a, std::string_view wanted) const;
  [[noreturn]] void wrong_shape(const Argument& a, std::int64_t rows, std::int64_t cols) const;
  [[noreturn]] void wrong_shape(const Argument& a, std::int64_t rows, std::int64_t cols,
                                const Argument& like) const;
  [[noreturn]] void not_contiguous(const Argument& a) const;
  [[noreturn]] void different_dtypes(const Argument& a, const Argument& b) const;
  [[noreturn]] void lacks_kernel(const Device& device) const;

  const char* op_;
};

/// True if some element of `a` shares memory with some element of `b`. Exact for contiguous views
/// and for column blocks of one matrix; other strided views count as overlapping when the ranges
/// from their first to their last byte do.
bool overlaps(const ConstTensorView& a, const ConstTensorView& b) noexcept;

}  // namespace muster::kernels
