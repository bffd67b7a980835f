#include "kernels/ops/reduce.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr std::int64_t kBlockBytes = 4096;  // of results: they stay in the first-level cache
constexpr std::int64_t kGrainBytes = 65536;
constexpr std::int64_t kLine = 64;
constexpr std::size_t kMaxDirect = 4;  // destinations that are written at once
constexpr int kUnroll = 4;             // enough independent loads to hide the latency of a cache

// What a source does to the result so far: on vectors of f32, and on single f64s and integers.
struct Sum {
  static Floats combine(Floats a, Floats b) { return a + b; }
  template <typename T>
  static T combine(T a, T b) {
    return a + b;
  }
};
struct Product {
  static Floats combine(Floats a, Floats b) { return a * b; }
  template <typename T>
  static T combine(T a, T b) {
    return a * b;
  }
};
struct Maximum {
  static Floats combine(Floats a, Floats b) { return max_or_nan(a, b); }
  static double combine(double a, double b) { return a > b || a != a ? a : b; }
  static std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) > static_cast<std::int64_t>(b) ? a : b;
  }
};
struct Minimum {
  static Floats combine(Floats a, Floats b) { return min_or_nan(a, b); }
  static double combine(double a, double b) { return a < b || a != a ? a : b; }
  static std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b;
  }
};

/// The element at `p`, which may be unaligned.
template <typename T>
T read(const T* p) {
  T value;
  std::memcpy(&value, static_cast<const void*>(p), sizeof(T));
  return value;
}

template <typename T>
const T* source(const ReduceArgs& args, std::size_t index) {
  return args.sources[index].row<T>(0);
}

/// The average of n sources whose sum is `sum`.
Floats divide(Floats sum, std::size_t n) {
  return sum / Floats::set(static_cast<float>(n));
}
double divide(double sum, std::size_t n) {
  return sum / static_cast<double>(n);
}
std::uint64_t divide(std::uint64_t sum, std::size_t n) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(sum) / static_cast<std::int64_t>(n));
}

/// Where vectors of results go as they are made: a block in the cache, or the destinations.
template <typename T>
struct Outputs {
  std::array<T*, kMaxDirect> to{};
  std::size_t count = 0;
  bool streaming = false;  // past the cache: each begins at the start of a line

  void put(std::int64_t index, const Floats (&values)[kUnroll]) const {
    for (std::size_t d = 0; d < count; ++d) {
      T* const p = to[d] + index;
      if (streaming) {
        for (int u = 0; u < kUnroll; ++u) stream(p + u * kWidth, values[u]);
      } else {
        for (int u = 0; u < kUnroll; ++u) store(p + u * kWidth, values[u]);
      }
    }
  }
  void put_first(std::int64_t index, Floats values, std::int64_t n) const {
    for (std::size_t d = 0; d < count; ++d) store_first(to[d] + index, values, n);
  }
};

/// out[0, n) = the sources' elements [begin, begin + n) combined. f32, bf16 and f16: in f32.
template <typename Op, typename T>
void combine_floats(const ReduceArgs& args, std::int64_t begin, std::int64_t n,
                    const Outputs<T> out) {
  const std::size_t sources = args.sources.size();
  const bool is_average = args.op == ReduceOp::avg;
  std::int64_t i = 0;
  for (; i + kUnroll * kWidth <= n; i += kUnroll * kWidth) {
    Floats result[kUnroll];
    const T* first = source<T>(args, 0) + begin + i;
    for (int u = 0; u < kUnroll; ++u) result[u] = load(first + u * kWidth);
    for (std::size_t s = 1; s < sources; ++s) {
      const T* next = source<T>(args, s) + begin + i;
      for (int u = 0; u < kUnroll; ++u) {
        result[u] = Op::combine(result[u], load(next + u * kWidth));
      }
    }
    if (is_average) {
      for (int u = 0; u < kUnroll; ++u) result[u] = divide(result[u], sources);
    }
    out.put(i, result);
  }
  for (; i < n; i += kWidth) {
    const std::int64_t rest = std::min<std::int64_t>(kWidth, n - i);
    const auto load_rest = [&](std::size_t s) {
      const T* p = source<T>(args, s) + begin + i;
      return rest == kWidth ? load(p) : load_first(p, rest);
    };
    Floats result = load_rest(0);
    for (std::size_t s = 1; s < sources; ++s) result = Op::combine(result, load_rest(s));
    if (is_average) result = divide(result, sources);
    out.put_first(i, result, rest);
  }
}

/// The same for f64, in f64, and for integers, in 64 bits, which wrap round.
template <typename Op, typename T>
void combine_scalars(const ReduceArgs& args, std::int64_t begin, std::int64_t n, T* out) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  constexpr std::int64_t kRun = 64;
  for (std::int64_t i = 0; i < n; i += kRun) {
    Wide result[kRun];
    const std::int64_t run = std::min(kRun, n - i);
    const T* first = source<T>(args, 0) + begin + i;
    // An i8 is a number here, not a letter: its sign is to be kept.
    // NOLINTBEGIN(bugprone-signed-char-misuse)
    for (std::int64_t j = 0; j < run; ++j) result[j] = static_cast<Wide>(read(first + j));
    for (std::size_t s = 1; s < args.sources.size(); ++s) {
      const T* next = source<T>(args, s) + begin + i;
      for (std::int64_t j = 0; j < run; ++j) {
        result[j] = Op::combine(result[j], static_cast<Wide>(read(next + j)));
      }
    }
    // NOLINTEND(bugprone-signed-char-misuse)
    for (std::int64_t j = 0; j < run; ++j) {
      if (args.op == ReduceOp::avg) result[j] = divide(result[j], args.sources.size());
      const T rounded = static_cast<T>(result[j]);
      std::memcpy(static_cast<void*>(out + i + j), &rounded, sizeof(T));
    }
  }
}

template <typename T>
inline constexpr bool kIsCombinedInF32 = std::is_same_v<T, float> || sizeof(T) == 2;

template <typename Op, typename T>
void combine(const ReduceArgs& args, std::int64_t begin, std::int64_t n, T* out) {
  if constexpr (kIsCombinedInF32<T>) {
    Outputs<T> outputs;
    outputs.to[outputs.count++] = out;
    combine_floats<Op>(args, begin, n, outputs);
  } else {
    combine_scalars<Op>(args, begin, n, out);
  }
}

/// Copies past the cache where whole lines allow it.
void stream(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  const auto before = static_cast<std::int64_t>(-address % static_cast<std::uintptr_t>(kLine));
  std::int64_t i = std::min(bytes, before);
  std::memcpy(to, from, static_cast<std::size_t>(i));
  for (; i + kLine <= bytes; i += kLine) stream_line(to + i, from + i);
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes, bool streaming) {
  if (to == from) return;
  if (streaming) {
    stream(to, from, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

/// Elements from `begin` on until the first destination lies at the start of a cache line, or a
/// whole block if it does already: later blocks then stream whole lines.
template <typename T>
std::int64_t first_block(const ReduceArgs& args, std::int64_t begin) {
  constexpr auto kElement = static_cast<std::int64_t>(sizeof(T));
  const auto address = reinterpret_cast<std::uintptr_t>(args.destinations[0].row<T>(0) + begin);
  const auto into_line = static_cast<std::int64_t>(address % static_cast<std::uintptr_t>(kLine));
  return into_line == 0 ? kBlockBytes / kElement : (kLine - into_line + kElement - 1) / kElement;
}

/// Elements [begin, end) straight from the sources to the destinations, which keeps more reads and
/// writes in flight than a block in between. False if that cannot be: too many destinations, or
/// some that do not begin a line where the first does and yet are to be streamed.
template <typename Op, typename T>
bool reduce_directly(const ReduceArgs& args, std::int64_t begin, std::int64_t end) {
  if (args.destinations.size() > kMaxDirect) return false;
  Outputs<T> head;
  Outputs<T> rest;
  const std::int64_t split =
      args.streaming ? std::min(end, begin + first_block<T>(args, begin)) : begin;
  for (const TensorView& destination : args.destinations) {
    head.to[head.count++] = destination.row<T>(0) + begin;
    T* const to = destination.row<T>(0) + split;
    const bool is_line =
        reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(kLine) == 0;
    if (args.streaming && !is_line) return false;
    rest.to[rest.count++] = to;
  }
  rest.streaming = args.streaming;
  combine_floats<Op>(args, begin, split - begin, head);
  combine_floats<Op>(args, split, end - split, rest);
  return true;
}

/// Block by block through the cache to every destination.
template <typename Op, typename T>
void reduce_in_blocks(const ReduceArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr auto kElement = static_cast<std::int64_t>(sizeof(T));
  alignas(kLine) T block[kBlockBytes / kElement];
  std::int64_t length = first_block<T>(args, begin);
  for (std::int64_t i = begin; i < end; i += length, length = kBlockBytes / kElement) {
    length = std::min(length, end - i);
    combine<Op>(args, i, length, block);
    for (const TensorView& destination : args.destinations) {
      copy(destination.data + i * kElement, reinterpret_cast<const std::byte*>(block),
           length * kElement, args.streaming);
    }
  }
}

/// One thread's part.
template <typename Op, typename T>
void reduce_part(const ReduceArgs& args, std::int64_t begin, std::int64_t end) {
  bool is_done = false;
  if constexpr (kIsCombinedInF32<T>) is_done = reduce_directly<Op, T>(args, begin, end);
  if (!is_done && args.destinations.size() == 1 && !args.streaming) {
    combine<Op>(args, begin, end - begin, args.destinations[0].row<T>(0) + begin);
    is_done = true;
  }
  if (!is_done) reduce_in_blocks<Op, T>(args, begin, end);
  if (args.streaming) end_of_stream();
}

template <typename Op, typename T>
void reduce_with(Device& device, const ReduceArgs& args) {
  constexpr std::int64_t kGrain = kGrainBytes / static_cast<std::int64_t>(sizeof(T));
  parallel_for(device.threads(), args.sources[0].count(), kGrain,
               [&](std::int64_t begin, std::int64_t end) { reduce_part<Op, T>(args, begin, end); });
}

/// One source: its bytes go to every destination unchanged, block by block so that it is read once.
void copy_to_all(Device& device, const ReduceArgs& args) {
  const ConstTensorView source = args.sources[0];
  const auto bytes = static_cast<std::int64_t>(source.bytes());
  parallel_for(device.threads(), bytes, kGrainBytes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kGrainBytes) {
      const std::int64_t length = std::min(kGrainBytes, end - i);
      for (const TensorView& to : args.destinations) {
        copy(to.data + i, source.data + i, length, args.streaming);
      }
    }
    if (args.streaming) end_of_stream();
  });
}

template <typename T>
void reduce_typed(Device& device, const ReduceArgs& args) {
  switch (args.op) {
    case ReduceOp::sum:
    case ReduceOp::avg: return reduce_with<Sum, T>(device, args);
    case ReduceOp::max: return reduce_with<Maximum, T>(device, args);
    case ReduceOp::min: return reduce_with<Minimum, T>(device, args);
    case ReduceOp::prod: return reduce_with<Product, T>(device, args);
  }
}

}  // namespace

void reduce(Device& device, const ReduceArgs& args) {
  if (args.sources.size() == 1) return copy_to_all(device, args);
  switch (args.sources[0].dtype) {
    case Dtype::f64: return reduce_typed<double>(device, args);
    case Dtype::f32: return reduce_typed<float>(device, args);
    case Dtype::f16: return reduce_typed<Half>(device, args);
    case Dtype::bf16: return reduce_typed<Bfloat16>(device, args);
    case Dtype::i64: return reduce_typed<std::int64_t>(device, args);
    case Dtype::i32: return reduce_typed<std::int32_t>(device, args);
    case Dtype::i8: return reduce_typed<std::int8_t>(device, args);
    case Dtype::u8: return reduce_typed<std::uint8_t>(device, args);
  }
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
