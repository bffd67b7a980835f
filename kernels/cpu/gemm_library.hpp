#pragma once

#include <memory>
#include <string>

#include "kernels/base/dtype.hpp"
#include "kernels/cpu/isa.hpp"

namespace muster::kernels::cpu {

/// c [m, n] = op(a) * op(b) [+ c] [+ bias], everything but the addresses. Strides in elements
/// between the rows as stored; a and b (and bias) have dtype `input`, c has `output`.
struct GemmProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
  std::int64_t c_stride = 0;
  Dtype input = Dtype::f32;
  Dtype output = Dtype::f32;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  bool has_bias = false;

  bool operator==(const GemmProblem&) const = default;
};

/// The addresses of one call.
struct GemmPointers {
  std::byte* c;
  const std::byte* a;
  const std::byte* b;
  const std::byte* bias;  // null without a bias
  std::byte* scratch;     // Gemm::scratch_bytes(), 64-byte aligned
};

/// A product prepared for one problem: code made, strategy chosen.
class Gemm {
 public:
  Gemm() = default;
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  virtual ~Gemm() = default;

  virtual std::size_t scratch_bytes() const noexcept = 0;
  virtual void run(const GemmPointers& pointers) = 0;
};

/// The matrix library of a CPU device: oneDNN, whose products are made once per problem (about a
/// millisecond of code generation) and kept. Used by one thread at a time, on a team of `threads`.
///
/// oneDNN's own instruction set can be limited only before its first use in a process. A library
/// made with Isa::avx2 asks for that; `description` says what is in force.
class GemmLibrary {
 public:
  GemmLibrary(Isa isa, int threads);
  GemmLibrary(const GemmLibrary&) = delete;
  GemmLibrary& operator=(const GemmLibrary&) = delete;
  ~GemmLibrary();

  /// True if products of this dtype are computed as they are; others go through f32.
  bool is_native(Dtype dtype) const noexcept;

  /// The product for `problem`, made if it is new. Valid until the next call of `find`: when
  /// kCapacity problems are kept, the next new one empties the shelf.
  Gemm& find(const GemmProblem& problem);
  static constexpr std::size_t kCapacity = 1024;
  std::size_t size() const noexcept;

  /// "oneDNN 2.6.3 avx512_core_bf16".
  std::string description() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::kernels::cpu
