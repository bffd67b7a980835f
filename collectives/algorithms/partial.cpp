#include "collectives/algorithms/partial.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include "collectives/algorithms/lane.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::algorithms {
namespace {

bool is_half(Dtype dtype) noexcept {
  return dtype == Dtype::f16 || dtype == Dtype::bf16;
}

template <typename T>
T read(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
void write(std::byte* data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
void widen(TensorView to, ConstTensorView from) {
  // An i8 is a number here, not a letter: its sign is to be kept.
  for (std::int64_t i = 0; i < from.count(); ++i) {
    write(to.data, i, static_cast<std::int64_t>(read<T>(from.data, i)));  // NOLINT(*-misuse)
  }
}

// to = from / ranks, each quotient in the dtype of the partial result.
template <typename To, typename From>
void divide(TensorView to, ConstTensorView from, int ranks) {
  const auto divisor = static_cast<From>(ranks);
  for (std::int64_t i = 0; i < from.count(); ++i) {
    write(to.data, i, static_cast<To>(read<From>(from.data, i) / divisor));
  }
}

void divide_in_place(TensorView partial, int ranks) {
  switch (partial.dtype) {
    case Dtype::f64: return divide<double, double>(partial, partial, ranks);
    case Dtype::f32: return divide<float, float>(partial, partial, ranks);
    default: return divide<std::int64_t, std::int64_t>(partial, partial, ranks);
  }
}

// Integers keep their lowest bits, as a sum of their own width would.
template <typename T>
void narrow(TensorView to, ConstTensorView from) {
  for (std::int64_t i = 0; i < from.count(); ++i) {
    write(to.data, i, static_cast<T>(read<std::int64_t>(from.data, i)));
  }
}

}  // namespace

Dtype partial_dtype(Dtype dtype, ReduceOp op) noexcept {
  const bool adds_up = op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::prod;
  if (is_half(dtype) && adds_up) return Dtype::f32;
  if (!is_floating(dtype) && op == ReduceOp::avg) return Dtype::i64;
  return dtype;
}

void begin_partial(kernels::Device& device, TensorView partial, ConstTensorView contribution) {
  if (partial.count() == 0) return;
  if (partial.dtype == contribution.dtype) return copy(device, partial, contribution);
  switch (contribution.dtype) {
    case Dtype::i32: return widen<std::int32_t>(partial, contribution);
    case Dtype::i8: return widen<std::int8_t>(partial, contribution);
    case Dtype::u8: return widen<std::uint8_t>(partial, contribution);
    default: return kernels::cast(device, {.y = partial, .x = contribution});
  }
}

void combine(kernels::Device& device, const CombineArgs& args) {
  if (args.mine.count() == 0) return;
  const bool is_mine_first = args.order == Order::mine_first;
  const ConstTensorView mine = args.mine;
  const std::array<ConstTensorView, 2> sources = {is_mine_first ? mine : args.theirs,
                                                  is_mine_first ? args.theirs : mine};
  kernels::reduce(device, {.destinations = {&args.mine, 1},
                           .sources = sources,
                           .op = args.op == ReduceOp::avg ? ReduceOp::sum : args.op});
}

void finish(kernels::Device& device, const FinishArgs& args) {
  if (args.out.count() == 0) return;
  if (args.op == ReduceOp::avg) divide_in_place(args.partial, args.ranks);
  if (args.out.dtype == args.partial.dtype) return copy(device, args.out, args.partial);
  switch (args.out.dtype) {
    case Dtype::i32: return narrow<std::int32_t>(args.out, args.partial);
    case Dtype::i8: return narrow<std::int8_t>(args.out, args.partial);
    case Dtype::u8: return narrow<std::uint8_t>(args.out, args.partial);
    default: return kernels::cast(device, {.y = args.out, .x = args.partial});
  }
}

}  // namespace muster::collectives::algorithms
