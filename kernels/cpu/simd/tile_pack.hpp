#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/simd/simd.hpp"

// Moving rows between tensors and the f32 tiles that tile_matmul.hpp multiplies, and cutting the
// scratch memory of an op into such tiles.

namespace muster::kernels::cpu::MUSTER_ISA {

/// The smallest multiple of `step` that is not below n.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

/// Hands out 64-byte aligned arrays one after the other. Made without memory it only counts, so one
/// function can tell how much a set of arrays needs and lay them out.
class ScratchCutter {
 public:
  explicit ScratchCutter(std::byte* begin) : begin_(begin) {}

  template <typename T>
  T* take(std::int64_t count) {
    const std::int64_t offset = bytes_;
    bytes_ += round_up(count * static_cast<std::int64_t>(sizeof(T)), 64);
    return begin_ == nullptr ? nullptr : reinterpret_cast<T*>(begin_ + offset);
  }

  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* begin_;
  std::int64_t bytes_ = 0;
};

/// Rows of a tensor: row r begins at data + r * stride.
template <typename T>
struct Rows {
  T* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t cols;
};

/// tile[r][c] = factor * source[r][c] in f32; the columns up to the next whole register are zero.
template <typename T>
void pack_rows(const Rows<const T>& source, float factor, float* tile, std::int64_t tile_row) {
  const Floats scale = Floats::set(factor);
  for (std::int64_t r = 0; r < source.rows; ++r) {
    const T* const from = source.data + r * source.stride;
    float* const to = tile + r * tile_row;
    std::int64_t c = 0;
    for (; c + kWidth <= source.cols; c += kWidth) store(to + c, scale * load(from + c));
    if (c < source.cols) store(to + c, scale * load_first(from + c, source.cols - c));
  }
}

/// target[r][c] = factor * tile[r][c], rounded to T.
template <typename T>
void unpack_rows(const float* tile, std::int64_t tile_row, float factor, const Rows<T>& target) {
  const Floats scale = Floats::set(factor);
  for (std::int64_t r = 0; r < target.rows; ++r) {
    const float* const from = tile + r * tile_row;
    T* const to = target.data + r * target.stride;
    std::int64_t c = 0;
    for (; c + kWidth <= target.cols; c += kWidth) store(to + c, scale * load(from + c));
    if (c < target.cols) store_first(to + c, scale * load(from + c), target.cols - c);
  }
}

/// Asks for rows of a tensor a few at a time, so that they arrive while other tiles are multiplied;
/// asked for all at once they would only queue up in front of those.
template <typename T>
class RowPrefetch {
 public:
  /// The rows will have been asked for after `steps` steps.
  RowPrefetch(const Rows<const T>& rows, std::int64_t steps)
      : rows_(rows), per_step_((rows.rows + steps - 1) / steps) {}

  void step() {
    const std::int64_t end = std::min(rows_.rows, next_ + per_step_);
    for (; next_ < end; ++next_) {
      const auto* const row = reinterpret_cast<const char*>(rows_.data + next_ * rows_.stride);
      const std::int64_t bytes = rows_.cols * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t i = 0; i < bytes; i += 64) _mm_prefetch(row + i, _MM_HINT_T0);
    }
  }

 private:
  const Rows<const T> rows_;
  const std::int64_t per_step_;
  std::int64_t next_ = 0;
};

/// One 8 x 8 block: to[c][r] = from[r][c].
inline void transpose_block(const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row) {
  __m256 half[8];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {  // rows r and r + 4 side by side, left and right halves apart
    const __m128 low_left = _mm_loadu_ps(from + r * from_row);
    const __m128 low_right = _mm_loadu_ps(from + r * from_row + 4);
    const float* const high = from + (r + 4) * from_row;
    half[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(low_left), _mm_loadu_ps(high), 1);
    half[r + 4] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(low_right), _mm_loadu_ps(high + 4), 1);
  }
#pragma GCC unroll 2
  for (int side = 0; side < 8; side += 4) {
    const __m256 a = _mm256_unpacklo_ps(half[side], half[side + 1]);
    const __m256 b = _mm256_unpackhi_ps(half[side], half[side + 1]);
    const __m256 c = _mm256_unpacklo_ps(half[side + 2], half[side + 3]);
    const __m256 d = _mm256_unpackhi_ps(half[side + 2], half[side + 3]);
    float* const out = to + side * to_row;
    _mm256_storeu_ps(out, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(out + to_row, _mm256_shuffle_ps(a, c, 0xEE));
    _mm256_storeu_ps(out + 2 * to_row, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(out + 3 * to_row, _mm256_shuffle_ps(b, d, 0xEE));
  }
}

/// to[c][r] = from[r][c] for r < rows, c < cols, both rounded up to the next multiple of 8: tiles
/// have that room.
inline void transpose_tile(const Rows<const float>& from, float* to, std::int64_t to_row) {
  for (std::int64_t r = 0; r < from.rows; r += 8) {
    for (std::int64_t c = 0; c < from.cols; c += 8) {
      transpose_block(from.data + r * from.stride + c, from.stride, to + c * to_row + r, to_row);
    }
  }
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
