#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/simd/tile_pack.hpp"

// What the forward and the backward of attention share: how a micro-batch is cut, and the
// exponential. Scores are kept in units of ln 2, so that exp(x - lse) costs no multiplication:
// queries are packed with scale * log2(e).

namespace muster::kernels::cpu::MUSTER_ISA {

/// Keys per tile: its transposed keys and its values stay in the first-level cache for head_dim 64.
inline constexpr std::int64_t kTileKeys = 64;
/// Room in a row of scores: the last register may begin at any key of the tile.
inline constexpr std::int64_t kScoreRow = kTileKeys + kWidth;

inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

/// Calls fn(begin, end) for the documents of a micro-batch in order. One begins wherever a token
/// sees nothing before itself; none of the tokens that follow can see beyond it either, because
/// bounds never fall. Everything is then cut from the beginning of a document, so that what a
/// document gives does not depend on what it is packed with.
template <typename Function>
void for_each_document(const std::int32_t* bounds, std::int64_t tokens, const Function& fn) {
  std::int64_t begin = 0;
  for (std::int64_t t = 1; t <= tokens; ++t) {
    if (t < tokens && bounds[t] != t) continue;
    fn(begin, t);
    begin = t;
  }
}

/// 2^x for x <= 1 to 1.5 ulp, at least 2^-125; NaN for NaN. On |r| <= 1/2 a polynomial through the
/// Chebyshev points of (2^r - 1) / r.
inline Floats exp2(Floats x) {
  const Floats clamped = max(Floats::set(-125.0F), x);
  const Floats n = round(clamped);
  const Floats r = clamped - n;
  Floats p = Floats::set(1.5453162945e-4F);
  p = fma(p, r, Floats::set(1.3390863365e-3F));
  p = fma(p, r, Floats::set(9.6180825573e-3F));
  p = fma(p, r, Floats::set(5.5503571142e-2F));
  p = fma(p, r, Floats::set(2.4022650761e-1F));
  p = fma(p, r, Floats::set(6.9314718803e-1F));
  p = fma(p, r, Floats::set(1.0F));
  return scale_by_power(p, n);
}

/// The columns of a row of scores that its query sees, counted from the first column computed.
struct Visible {
  std::int64_t from;
  std::int64_t to;

  bool is_empty() const { return from >= to; }
  bool holds(std::int64_t column) const { return from <= column && column + kWidth <= to; }
};

/// `inside` in the lanes column, column + 1 … that are visible, `outside` in the others.
struct LaneTable {
  alignas(64) float values[3 * kWidth];

  constexpr LaneTable(float outside, float inside) : values() {
    for (int i = 0; i < 3 * kWidth; ++i) values[i] = i / kWidth == 1 ? inside : outside;
  }
  /// Lanes from `first` on.
  Floats from(std::int64_t first) const {
    return load(values + kWidth - std::clamp<std::int64_t>(first, 0, kWidth));
  }
  /// Lanes before `last`.
  Floats before(std::int64_t last) const {
    return load(values + 2 * kWidth - std::clamp<std::int64_t>(last, 0, kWidth));
  }
};

/// Minus infinity where a score is not visible, whatever it was: hidden scores may be much larger
/// than all visible ones.
inline Floats hide_scores(Floats scores, const Visible& visible, std::int64_t column) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr LaneTable kLimit{-kInfinity, kInfinity};
  const Floats left = min(scores, kLimit.from(visible.from - column));
  return min(left, kLimit.before(visible.to - column));
}

/// Zero where a probability is not visible: the exponential of minus infinity is only small.
inline Floats hide_probabilities(Floats p, const Visible& visible, std::int64_t column) {
  static constexpr LaneTable kKeep{0.0F, 1.0F};
  return p * kKeep.from(visible.from - column) * kKeep.before(visible.to - column);
}

/// exp(score - lse) of a register of scores that starts at `column`, zero where not visible.
inline Floats probabilities(Floats scores, Floats lse, const Visible& visible,
                            std::int64_t column) {
  if (visible.holds(column)) return exp2(scores - lse);
  return hide_probabilities(exp2(hide_scores(scores, visible, column) - lse), visible, column);
}

/// Keys or values as f32 twice: `along` [kTileKeys, width] row by row, and `across`
/// [head_dim, kScoreRow] transposed, with zeros after the last: what is multiplied by a hidden
/// probability must be finite.
template <typename T>
void pack_keys(const Rows<const T>& source, float* along, std::int64_t width, float* across) {
  const std::int64_t rows = round_up(source.rows, 8);
  pack_rows(source, 1.0F, along, width);
  std::fill(along + source.rows * width, along + rows * width, 0.0F);
  transpose_tile({along, width, rows, source.cols}, across, kScoreRow);
  for (std::int64_t c = 0; c < source.cols; ++c) {
    std::fill(across + c * kScoreRow + rows, across + (c + 1) * kScoreRow, 0.0F);
  }
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
