#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/simd/simd.hpp"

// The one place with register-blocked multiply-add loops over small f32 tiles that lie in cache.
// A block of C of kBlockRows rows and kPanel registers stays in registers while A is broadcast
// element by element and B is read register by register:
//
//   per step of the depth:  kPanel loads of B, kBlockRows broadcasts of A, their product in FMAs
//   avx512:  4 + 6 loads for 24 FMAs (29 of 32 registers);  avx2:  2 + 6 loads for 12 (15 of 16)

namespace muster::kernels::cpu::MUSTER_ISA {

/// Rows of C in one register block.
inline constexpr int kBlockRows = 6;
/// Registers of one row of C in one register block.
inline constexpr int kPanel = kWidth == 16 ? 4 : 2;

/// One product C (+)= A B of tiles in f32.
///
///   a : element (i, k) at a[i * a_row + k * a_depth], so that a transposed tile needs no copy
///   b : row k at b + k * b_row
///   c : row i at c + i * c_row
///
/// Rows of B and C are read and written in whole registers: `vectors` of them, also past the
/// columns that matter, so tiles are allocated with padded rows.
struct TileProduct {
  const float* a;
  std::int64_t a_row;
  std::int64_t a_depth;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  std::int64_t depth;
  bool accumulate;  // add to what is in c
};

/// C of kRows rows and kVectors registers.
template <int kRows, int kVectors>
void multiply_block(const TileProduct& product) {
  Floats sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      sum[i][j] =
          product.accumulate ? load(product.c + i * product.c_row + j * kWidth) : Floats::zero();
    }
  }
  const float* a = product.a;
  const float* b = product.b;
  const std::int64_t a_row = product.a_row;
  const std::int64_t a_depth = product.a_depth;
  const std::int64_t b_row = product.b_row;
  for (std::int64_t k = product.depth; k > 0; --k) {
    Floats right[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) right[j] = load(b + j * kWidth);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Floats left = Floats::set(a[i * a_row]);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sum[i][j] = fma(left, right[j], sum[i][j]);
    }
    a += a_depth;
    b += b_row;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) store(product.c + i * product.c_row + j * kWidth, sum[i][j]);
  }
}

template <int kRows>
void multiply_panel(const TileProduct& product, std::int64_t vectors) {
  if constexpr (kPanel == 4) {
    if (vectors == 4) return multiply_block<kRows, 4>(product);
    if (vectors == 3) return multiply_block<kRows, 3>(product);
  }
  if (vectors == 2) return multiply_block<kRows, 2>(product);
  multiply_block<kRows, 1>(product);
}

/// C of kRows rows and any number of registers, cut into panels of nearly the same width (five are
/// 3 + 2, not 4 + 1: a narrow panel leaves the FMA units waiting for loads).
template <int kRows>
void multiply_rows(TileProduct product, std::int64_t vectors) {
  while (vectors > 0) {
    const bool is_last_pair = vectors > kPanel && vectors < 2 * kPanel;
    const std::int64_t width =
        is_last_pair ? (vectors + 1) / 2 : std::min<std::int64_t>(vectors, kPanel);
    multiply_panel<kRows>(product, width);
    product.b += width * kWidth;
    product.c += width * kWidth;
    vectors -= width;
  }
}

/// C of `rows` in [1, kBlockRows] rows and `vectors` registers.
inline void multiply_tile(const TileProduct& product, std::int64_t rows, std::int64_t vectors) {
  static_assert(kBlockRows == 6);
  switch (rows) {
    case 6: return multiply_rows<6>(product, vectors);
    case 5: return multiply_rows<5>(product, vectors);
    case 4: return multiply_rows<4>(product, vectors);
    case 3: return multiply_rows<3>(product, vectors);
    case 2: return multiply_rows<2>(product, vectors);
    default: return multiply_rows<1>(product, vectors);
  }
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
