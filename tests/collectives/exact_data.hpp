#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/base/half.hpp"

namespace muster::collectives {

/// Small whole numbers, so that results are exact in every dtype and in any order. They repeat
/// after kPeriod elements, a prime: no share, slice or chunk begins at the same phase as another.
inline constexpr std::int64_t kPeriod = 1021;

inline bool is_signed(Dtype dtype) {
  return dtype != Dtype::u8;
}

/// Element `index` of the input of `rank`.
inline std::int64_t input_value(int rank, std::int64_t index, ReduceOp op, Dtype dtype) {
  const std::int64_t phase = index % kPeriod;
  if (op == ReduceOp::prod) {
    const std::int64_t magnitude = 1 + (phase + rank) % 3;
    return is_signed(dtype) && phase % 2 == 0 && rank == 0 ? -magnitude : magnitude;
  }
  return (phase * 7 + std::int64_t{rank} * 3) % 13 - (is_signed(dtype) ? 6 : 0);
}

/// Writes `value` as an element of `dtype` to `at`.
inline void write_element(std::byte* at, Dtype dtype, double value) {
  const auto write = [at](auto element) { std::memcpy(at, &element, sizeof(element)); };
  switch (dtype) {
    case Dtype::f64: return write(value);
    case Dtype::f32: return write(static_cast<float>(value));
    case Dtype::f16: return write(Half(static_cast<float>(value)));
    case Dtype::bf16: return write(Bfloat16(static_cast<float>(value)));
    case Dtype::i64: return write(static_cast<std::int64_t>(value));
    case Dtype::i32: return write(static_cast<std::int32_t>(value));
    case Dtype::i8: return write(static_cast<std::int8_t>(static_cast<std::int64_t>(value)));
    case Dtype::u8: return write(static_cast<std::uint8_t>(value));
  }
}

/// The result of element `index` by plain arithmetic. An average of f32 and narrower is divided in
/// f32, of f64 in f64, of whole numbers rounded towards zero.
inline double reduced_value(int ranks, std::int64_t index, ReduceOp op, Dtype dtype) {
  std::int64_t result = input_value(0, index, op, dtype);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t next = input_value(rank, index, op, dtype);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg: result += next; break;
      case ReduceOp::max: result = std::max(result, next); break;
      case ReduceOp::min: result = std::min(result, next); break;
      case ReduceOp::prod: result *= next; break;
    }
  }
  if (op != ReduceOp::avg) return static_cast<double>(result);
  if (!is_floating(dtype)) return std::trunc(static_cast<double>(result) / ranks);
  if (dtype == Dtype::f64) return static_cast<double>(result) / ranks;
  return static_cast<double>(static_cast<float>(result) / static_cast<float>(ranks));
}

/// One period of elements, to be laid out or compared again and again.
class Pattern {
 public:
  template <typename Value>
  Pattern(Dtype dtype, Value&& value) : width_(size_of(dtype)), bytes_(kPeriod * width_) {
    for (std::int64_t i = 0; i < kPeriod; ++i) {
      write_element(bytes_.data() + static_cast<std::size_t>(i) * width_, dtype, value(i));
    }
  }

  /// `count` elements from element `begin` of the endless pattern.
  void fill(std::byte* to, std::int64_t begin, std::int64_t count) const {
    walk(begin, count, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
      std::memcpy(to + at, from, bytes);
      return true;
    });
  }
  bool is_at(const std::byte* data, std::int64_t begin, std::int64_t count) const {
    return walk(begin, count, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
      return std::memcmp(data + at, from, bytes) == 0;
    });
  }

 private:
  template <typename Piece>
  bool walk(std::int64_t begin, std::int64_t count, Piece&& piece) const {
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t phase = (begin + i) % kPeriod;
      const std::int64_t run = std::min(count - i, kPeriod - phase);
      const auto at = static_cast<std::size_t>(i) * width_;
      const std::byte* const from = bytes_.data() + static_cast<std::size_t>(phase) * width_;
      if (!piece(at, from, static_cast<std::size_t>(run) * width_)) return false;
      i += run;
    }
    return true;
  }

  std::size_t width_;
  std::vector<std::byte> bytes_;
};

/// Where a test puts its data.
enum class Place { symmetric, private_memory, unaligned };

/// Memory for up to `bytes` of data with guards before and after it.
class GuardedBuffer {
 public:
  static constexpr std::size_t kGuard = 256;

  GuardedBuffer(Communicator& communicator, Place place, std::size_t bytes)
      : capacity_(bytes), place_(place) {
    const std::size_t whole = bytes + 2 * kGuard + 64;
    if (place == Place::symmetric) {
      memory_ = communicator.memory().allocate(whole, "a buffer of a test");
      begin_ = memory_.data();
      return;
    }
    private_.resize(whole);
    const auto address = reinterpret_cast<std::uintptr_t>(private_.data());
    begin_ = private_.data() + (64 - address % 64) % 64;
  }

  /// A view of `count` elements with fresh guards around them.
  TensorView view(Dtype dtype, std::int64_t count) {
    const std::size_t width = size_of(dtype);
    data_ = begin_ + kGuard + (place_ == Place::unaligned ? width : 0);
    bytes_ = static_cast<std::size_t>(count) * width;
    std::memset(data_ - kGuard, kMark, kGuard);
    std::memset(data_, 0xEE, bytes_);
    std::memset(data_ + bytes_, kMark, kGuard - 64);
    return {data_, dtype, 1, count};
  }
  bool guards_are_intact() const {
    const auto is_marked = [](const std::byte* from, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        if (from[i] != std::byte{kMark}) return false;
      }
      return true;
    };
    return is_marked(data_ - kGuard, kGuard) && is_marked(data_ + bytes_, kGuard - 64);
  }
  std::size_t capacity() const { return capacity_; }

 private:
  static constexpr unsigned char kMark = 0xA5;

  std::size_t capacity_;
  Place place_;
  Memory memory_;
  std::vector<std::byte> private_;
  std::byte* begin_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace muster::collectives
