#pragma once

#include <cstdint>

#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

/// A whole register's worth of neighbouring elements.
struct WholeLanes {
  template <typename T>
  Floats load(const T* p) const {
    return MUSTER_ISA::load(p);
  }
  template <typename T>
  void store(T* p, Floats a) const {
    MUSTER_ISA::store(p, a);
  }
  Floats only(Floats a) const { return a; }
};

/// The first n < kWidth of them, at the end of a row; the other lanes are zero.
struct FirstLanes {
  std::int64_t n;

  template <typename T>
  Floats load(const T* p) const {
    return load_first(p, n);
  }
  template <typename T>
  void store(T* p, Floats a) const {
    store_first(p, a, n);
  }
  /// a with zero in the other lanes, which no longer have it after an exp.
  Floats only(Floats a) const {
    alignas(64) float buffer[kWidth] = {};
    store_first(buffer, a, n);
    return MUSTER_ISA::load(buffer);
  }
};

/// Calls fn(lanes, c) for the columns c = 0, kWidth, 2 kWidth … below n. What fn loads and stores
/// by way of `lanes` stays within the row, so that a loop is written once for its body and its end.
template <typename Function>
void for_each_register(std::int64_t n, const Function& fn) {
  std::int64_t c = 0;
  for (; c + kWidth <= n; c += kWidth) fn(WholeLanes{}, c);
  if (c < n) fn(FirstLanes{n - c}, c);
}

/// a rounded to T and back.
template <typename T>
Floats rounded_to(Floats a) {
  alignas(64) T buffer[kWidth];
  store(buffer, a);
  return load(buffer);
}
template <>
inline Floats rounded_to<float>(Floats a) {
  return a;
}

/// How many rows of `cols` elements are worth a thread.
constexpr std::int64_t rows_worth_a_thread(std::int64_t cols) {
  constexpr std::int64_t kElements = 8192;
  return cols >= kElements ? 1 : kElements / cols;
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
