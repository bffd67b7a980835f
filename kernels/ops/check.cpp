#include "kernels/ops/check.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace muster::kernels {
namespace {

/// Bytes between the beginnings of neighbouring rows, and the bytes a view reaches over.
struct Extent {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::uintptr_t row_bytes;
  std::uintptr_t stride_bytes;
};

Extent extent_of(const ConstTensorView& view) noexcept {
  const auto element = static_cast<std::uintptr_t>(size_of(view.dtype));
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  const std::int64_t rows = view.is_contiguous() ? 1 : view.rows;
  const std::int64_t cols = view.is_contiguous() ? view.count() : view.cols;
  const std::uintptr_t row_bytes = static_cast<std::uintptr_t>(cols) * element;
  const std::uintptr_t stride_bytes =
      rows == 1 ? row_bytes : static_cast<std::uintptr_t>(view.stride) * element;
  return {begin, begin + static_cast<std::uintptr_t>(rows - 1) * stride_bytes + row_bytes,
          row_bytes, stride_bytes};
}

bool same_elements(const ConstTensorView& a, const ConstTensorView& b) noexcept {
  const bool same_rows = a.stride == b.stride || a.rows <= 1;
  return a.data == b.data && a.dtype == b.dtype && a.rows == b.rows && a.cols == b.cols &&
         same_rows;
}

}  // namespace

bool overlaps(const ConstTensorView& a, const ConstTensorView& b) noexcept {
  if (a.count() == 0 || b.count() == 0) return false;
  const Extent x = extent_of(a);
  const Extent y = extent_of(b);
  if (x.end <= y.begin || y.end <= x.begin) return false;
  if (x.stride_bytes != y.stride_bytes) return true;
  // Both repeat with one period: they meet exactly if the later one begins within the columns of
  // the earlier one, or wraps round into them.
  const std::uintptr_t later = (y.begin > x.begin ? y.begin - x.begin : x.begin - y.begin);
  const std::uintptr_t shift = later % x.stride_bytes;
  const std::uintptr_t first = y.begin > x.begin ? x.row_bytes : y.row_bytes;
  const std::uintptr_t second = y.begin > x.begin ? y.row_bytes : x.row_bytes;
  return shift < first || shift + second > x.stride_bytes;
}

void Check::is_given(const Argument& a) const {
  const ConstTensorView& v = a.view;
  const bool is_matrix = v.rows >= 0 && v.cols >= 0 && (v.rows <= 1 || v.stride >= v.cols);
  if (!is_matrix) {
    fail(fmt::format("{} is no matrix: {} rows, {} columns, stride {}", a.name, v.rows, v.cols,
                     v.stride));
  }
  if (v.data == nullptr && v.count() > 0) {
    fail(fmt::format("{} is {} without data", a.name, muster::to_string(v)));
  }
}

void Check::is_float(const Argument& a) const {
  const Dtype dtype = a.view.dtype;
  if (dtype != Dtype::f32 && dtype != Dtype::bf16 && dtype != Dtype::f16) {
    wrong_dtype(a, "f32, f16 or bf16");
  }
}

void Check::disjoint(const Argument& a, const Argument& b) const {
  if (!overlaps(a.view, b.view)) return;
  fail(fmt::format("{} {} overlaps {} {}: they must not share memory", a.name,
                   muster::to_string(a.view), b.name, muster::to_string(b.view)));
}

void Check::same_or_disjoint(const Argument& a, const Argument& b) const {
  if (same_elements(a.view, b.view) || !overlaps(a.view, b.view)) return;
  fail(fmt::format("{} {} overlaps {} {} in part: it may be all of it or none", a.name,
                   muster::to_string(a.view), b.name, muster::to_string(b.view)));
}

void Check::fail(std::string_view text) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", op_, text));
}

void Check::wrong_dtype(const Argument& a, std::string_view wanted) const {
  fail(fmt::format("{} is {}, but must be of {}", a.name, muster::to_string(a.view), wanted));
}

void Check::wrong_shape(const Argument& a, std::int64_t rows, std::int64_t cols) const {
  fail(
      fmt::format("{} is {}, but must be [{}, {}]", a.name, muster::to_string(a.view), rows, cols));
}

void Check::wrong_shape(const Argument& a, std::int64_t rows, std::int64_t cols,
                        const Argument& like) const {
  fail(fmt::format("{} is {}, but must be [{}, {}] to go with {} {}", a.name,
                   muster::to_string(a.view), rows, cols, like.name, muster::to_string(like.view)));
}

void Check::not_contiguous(const Argument& a) const {
  fail(fmt::format("{} is {}, but its rows must lie next to each other", a.name,
                   muster::to_string(a.view)));
}

void Check::different_dtypes(const Argument& a, const Argument& b) const {
  fail(fmt::format("{} is {} and {} is {}, but they must have one dtype", a.name,
                   muster::to_string(a.view), b.name, muster::to_string(b.view)));
}

void Check::lacks_kernel(const Device& device) const {
  throw Error(ErrorCode::unsupported,
              fmt::format("device {} has no kernel for {}", device.name(), op_));
}

}  // namespace muster::kernels
