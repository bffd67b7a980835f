// Attention forward and backward on the CPU device, in GFLOP/s of the products that the causal mask
// leaves: 4 head_dim per visible pair of tokens and head forward, 10 head_dim backward.
//
//   build/release/bin/attention_bench --benchmark_min_time=1

#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/devices.hpp"
#include "kernels/ops/attention.hpp"

namespace {

using namespace muster;
using namespace muster::kernels;

struct Shape {
  std::int64_t documents;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;

  std::int64_t tokens() const { return documents * length; }
  double pairs() const {
    const auto n = static_cast<double>(length);
    return static_cast<double>(documents * heads) * n * (n + 1) / 2;
  }
};

constexpr Shape kShapes[] = {
    {4, 256, 12, 12, 64},
    {2, 512, 32, 8, 64},
    {1, 1024, 8, 2, 128},
};

/// A matrix of small pseudo-random values; an integer recurrence keeps it free of a seed.
template <typename T>
struct Matrix {
  std::vector<T> values;
  std::int64_t rows;
  std::int64_t cols;

  Matrix(std::int64_t rows_in, std::int64_t cols_in)
      : values(static_cast<std::size_t>(rows_in * cols_in)), rows(rows_in), cols(cols_in) {
    std::uint32_t state = 1;
    for (T& value : values) {
      state = state * 1664525U + 1013904223U;
      value = T(static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
    }
  }
  TensorView view() { return matrix_view(values.data(), rows, cols); }
};

template <typename T>
struct Problem {
  explicit Problem(const Shape& s)
      : shape(s),
        q(s.tokens(), s.heads * s.head_dim),
        k(s.tokens(), s.kv_heads * s.head_dim),
        v(k),
        out(q),
        dout(q),
        dq(q),
        dk(k),
        dv(k),
        lse(s.heads, s.tokens()) {
    for (std::int64_t t = 0; t < s.tokens(); ++t) {
      bounds.push_back(static_cast<std::int32_t>(t - t % s.length));
    }
  }

  void forward(Device& device) {
    attention(device, {.out = out.view(),
                       .lse = lse.view(),
                       .q = q.view(),
                       .k = k.view(),
                       .v = v.view(),
                       .bounds = bounds_view(),
                       .heads = shape.heads,
                       .kv_heads = shape.kv_heads,
                       .scale = 0.125F});
  }
  void backward(Device& device) {
    attention_backward(device, {.dq = dq.view(),
                                .dk = dk.view(),
                                .dv = dv.view(),
                                .dout = dout.view(),
                                .out = out.view(),
                                .q = q.view(),
                                .k = k.view(),
                                .v = v.view(),
                                .lse = lse.view(),
                                .bounds = bounds_view(),
                                .heads = shape.heads,
                                .kv_heads = shape.kv_heads,
                                .scale = 0.125F});
  }
  ConstTensorView bounds_view() const {
    return vector_view(bounds.data(), static_cast<std::int64_t>(bounds.size()));
  }

  Shape shape;
  Matrix<T> q, k, v, out, dout, dq, dk, dv;
  Matrix<float> lse;
  std::vector<std::int32_t> bounds;
};

template <typename T, bool kIsBackward>
void bench(benchmark::State& state) {
  const Shape shape = kShapes[state.range(0)];
  const auto device = open_device("cpu", {.threads = static_cast<int>(state.range(1)), .isa = {}});
  Problem<T> problem(shape);
  problem.forward(*device);
  for (auto _ : state) kIsBackward ? problem.backward(*device) : problem.forward(*device);
  const double flops = shape.pairs() * static_cast<double>(shape.head_dim) * (kIsBackward ? 10 : 4);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(device->description());
}

void shapes_and_threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"shape", "threads"})->ArgsProduct({{0, 1, 2}, {1, 2}})->UseRealTime();
}

BENCHMARK_TEMPLATE(bench, float, false)->Name("forward/f32")->Apply(shapes_and_threads);
BENCHMARK_TEMPLATE(bench, float, true)->Name("backward/f32")->Apply(shapes_and_threads);
BENCHMARK_TEMPLATE(bench, Bfloat16, false)->Name("forward/bf16")->Apply(shapes_and_threads);
BENCHMARK_TEMPLATE(bench, Bfloat16, true)->Name("backward/bf16")->Apply(shapes_and_threads);

}  // namespace

BENCHMARK_MAIN();
