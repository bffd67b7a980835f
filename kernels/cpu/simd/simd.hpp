#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "kernels/base/half.hpp"

// The files of this folder are compiled once per instruction set, each time with the compiler flags
// of that set and MUSTER_ISA naming it ("avx2", "avx512"). Everything in them lives in the
// namespace kernels::cpu::MUSTER_ISA, so that the copies do not collide. This header is the only
// place that knows the width: Floats is 8 or 16 f32 values in a register.

namespace muster::kernels::cpu::MUSTER_ISA {

#if defined(__AVX512F__)

/// 16 f32 values.
struct Floats {
  __m512 v;
  static constexpr int kWidth = 16;

  static Floats zero() { return {_mm512_setzero_ps()}; }
  static Floats set(float x) { return {_mm512_set1_ps(x)}; }
};

inline Floats operator+(Floats a, Floats b) {
  return {_mm512_add_ps(a.v, b.v)};
}
inline Floats operator-(Floats a, Floats b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
inline Floats operator*(Floats a, Floats b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
inline Floats operator/(Floats a, Floats b) {
  return {_mm512_div_ps(a.v, b.v)};
}
/// a * b + c, rounded once.
inline Floats fma(Floats a, Floats b, Floats c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
/// b when either is NaN, as is min.
inline Floats max(Floats a, Floats b) {
  return {_mm512_max_ps(a.v, b.v)};
}
inline Floats min(Floats a, Floats b) {
  return {_mm512_min_ps(a.v, b.v)};
}
/// NaN when either is NaN.
inline Floats max_or_nan(Floats a, Floats b) {
  return {_mm512_mask_max_ps(a.v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q), a.v, b.v)};
}
inline Floats min_or_nan(Floats a, Floats b) {
  return {_mm512_mask_min_ps(a.v, _mm512_cmp_ps_mask(a.v, a.v, _CMP_ORD_Q), a.v, b.v)};
}
inline Floats sqrt(Floats a) {
  return {_mm512_sqrt_ps(a.v)};
}
inline Floats round(Floats a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a * 2^n for whole n.
inline Floats scale_by_power(Floats a, Floats n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}
inline float sum(Floats a) {
  return _mm512_reduce_add_ps(a.v);
}
inline float maximum(Floats a) {
  return _mm512_reduce_max_ps(a.v);
}
/// True if a > b in any lane; NaN is not greater.
inline bool any_greater(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ) != 0;
}

inline Floats load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
inline Floats load(const Bfloat16* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
inline Floats load(const Half* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}

inline void store(float* p, Floats a) {
  _mm512_storeu_ps(p, a.v);
}
inline void store(Bfloat16* p, Floats a) {
  const __m512i raw = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(raw, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(raw, odd), _mm512_set1_epi32(0x7FFF));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(raw, _mm512_set1_epi32(0x00400000));
  const __m512i bits = _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(bits));
}
inline void store(Half* p, Floats a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// Moves 64 bytes past the cache; `to` is 64-byte aligned. end_of_stream comes after the last.
inline void stream_line(std::byte* to, const std::byte* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}

/// 8 f64 values.
struct Doubles {
  __m512d v;
  static constexpr int kWidth = 8;

  static Doubles zero() { return {_mm512_setzero_pd()}; }
};

inline Doubles operator+(Doubles a, Doubles b) {
  return {_mm512_add_pd(a.v, b.v)};
}
inline Doubles fma(Doubles a, Doubles b, Doubles c) {
  return {_mm512_fmadd_pd(a.v, b.v, c.v)};
}
inline Doubles low_half(Floats a) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(a.v))};
}
inline Doubles high_half(Floats a) {
  return {_mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}
inline void store(double* p, Doubles a) {
  _mm512_storeu_pd(p, a.v);
}

#else

/// 8 f32 values.
struct Floats {
  __m256 v;
  static constexpr int kWidth = 8;

  static Floats zero() { return {_mm256_setzero_ps()}; }
  static Floats set(float x) { return {_mm256_set1_ps(x)}; }
};

inline Floats operator+(Floats a, Floats b) {
  return {_mm256_add_ps(a.v, b.v)};
}
inline Floats operator-(Floats a, Floats b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
inline Floats operator*(Floats a, Floats b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
inline Floats operator/(Floats a, Floats b) {
  return {_mm256_div_ps(a.v, b.v)};
}
/// a * b + c, rounded once.
inline Floats fma(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
inline Floats max(Floats a, Floats b) {
  return {_mm256_max_ps(a.v, b.v)};
}
inline Floats min(Floats a, Floats b) {
  return {_mm256_min_ps(a.v, b.v)};
}
/// NaN when either is NaN.
inline Floats max_or_nan(Floats a, Floats b) {
  return {_mm256_blendv_ps(_mm256_max_ps(a.v, b.v), a.v, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))};
}
inline Floats min_or_nan(Floats a, Floats b) {
  return {_mm256_blendv_ps(_mm256_min_ps(a.v, b.v), a.v, _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q))};
}
inline Floats sqrt(Floats a) {
  return {_mm256_sqrt_ps(a.v)};
}
inline Floats round(Floats a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a * 2^n for whole n with a normal result.
inline Floats scale_by_power(Floats a, Floats n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n.v), 23);
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a.v), exponent))};
}
inline float sum(Floats a) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
inline float maximum(Floats a) {
  const __m128 half = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}
/// True if a > b in any lane; NaN is not greater.
inline bool any_greater(Floats a, Floats b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_GT_OQ)) != 0;
}

inline Floats load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
inline Floats load(const Bfloat16* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
}
inline Floats load(const Half* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}

inline void store(float* p, Floats a) {
  _mm256_storeu_ps(p, a.v);
}
inline void store(Bfloat16* p, Floats a) {
  const __m256i raw = _mm256_castps_si256(a.v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(raw, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(raw, odd), _mm256_set1_epi32(0x7FFF));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(raw, _mm256_set1_epi32(0x00400000));
  const __m256i bits = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  const __m256i packed = _mm256_packus_epi32(bits, bits);
  const __m256i ordered = _mm256_permute4x64_epi64(packed, 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(ordered));
}
inline void store(Half* p, Floats a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// Moves 64 bytes past the cache; `to` is 64-byte aligned. end_of_stream comes after the last.
inline void stream_line(std::byte* to, const std::byte* from) {
  const auto* const in = reinterpret_cast<const __m256i*>(from);
  auto* const out = reinterpret_cast<__m256i*>(to);
  const __m256i low = _mm256_loadu_si256(in);
  const __m256i high = _mm256_loadu_si256(in + 1);
  _mm256_stream_si256(out, low);
  _mm256_stream_si256(out + 1, high);
}

/// 4 f64 values.
struct Doubles {
  __m256d v;
  static constexpr int kWidth = 4;

  static Doubles zero() { return {_mm256_setzero_pd()}; }
};

inline Doubles operator+(Doubles a, Doubles b) {
  return {_mm256_add_pd(a.v, b.v)};
}
inline Doubles fma(Doubles a, Doubles b, Doubles c) {
  return {_mm256_fmadd_pd(a.v, b.v, c.v)};
}
inline Doubles low_half(Floats a) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(a.v))};
}
inline Doubles high_half(Floats a) {
  return {_mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1))};
}
inline void store(double* p, Doubles a) {
  _mm256_storeu_pd(p, a.v);
}

#endif

inline constexpr int kWidth = Floats::kWidth;

/// Makes what stream_line wrote visible to other threads before whatever is stored next.
inline void end_of_stream() {
  _mm_sfence();
}

/// Stores past the cache; p is aligned to the kWidth elements it points to.
template <typename T>
void stream(T* p, Floats a) {
  alignas(64) T buffer[kWidth];
  store(buffer, a);
  if constexpr (sizeof(buffer) == 64) {
    stream_line(reinterpret_cast<std::byte*>(p), reinterpret_cast<const std::byte*>(buffer));
  } else if constexpr (sizeof(buffer) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(buffer)));
  } else {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(buffer)));
  }
}

/// The first n < kWidth values at p; the rest are zero.
template <typename T>
Floats load_first(const T* p, std::int64_t n) {
  alignas(64) T buffer[kWidth] = {};
  std::memcpy(buffer, p, static_cast<std::size_t>(n) * sizeof(T));
  return load(buffer);
}

/// Stores the first n < kWidth values only.
template <typename T>
void store_first(T* p, Floats a, std::int64_t n) {
  alignas(64) T buffer[kWidth];
  store(buffer, a);
  std::memcpy(p, buffer, static_cast<std::size_t>(n) * sizeof(T));
}

/// e^x to 2 ulp; x is first clamped to [-87.33, 88.72], where the result is a normal number; NaN
/// for NaN. Cody-Waite reduction to |r| <= ln 2 / 2, then a polynomial of degree 6 (coefficients:
/// Cephes, expf).
inline Floats exp(Floats x) {
  const Floats clamped = max(Floats::set(-87.33F), min(Floats::set(88.72F), x));
  const Floats n = round(clamped * Floats::set(1.44269504F));
  const Floats r = fma(n, Floats::set(2.12194440e-4F), fma(n, Floats::set(-0.693359375F), clamped));
  Floats p = Floats::set(1.9875691500e-4F);
  p = fma(p, r, Floats::set(1.3981999507e-3F));
  p = fma(p, r, Floats::set(8.3334519073e-3F));
  p = fma(p, r, Floats::set(4.1665795894e-2F));
  p = fma(p, r, Floats::set(1.6666665459e-1F));
  p = fma(p, r, Floats::set(5.0000001201e-1F));
  p = fma(p, r * r, r + Floats::set(1.0F));
  return scale_by_power(p, n);
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
