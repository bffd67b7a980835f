// The matmul kernel of the CPU device beside OpenBLAS, at the shapes of transformers.
//
//   matmul_bench [threads] [isa]
//
// forward  y = x w^T, dx = dy w and dw += dy^T x of a linear layer [in, out] for some tokens.
// OpenBLAS has f32 only: the ratio of a 16-bit row says what the dtype gains over it.

#include <cstdlib>
#include <string>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>

#include "kernels/base/random.hpp"
#include "kernels/devices.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/matmul.hpp"
#include "tests/bench/timing.hpp"

extern "C" void openblas_set_num_threads(int);

namespace muster::bench {
namespace {

struct Layer {
  std::int64_t tokens;
  std::int64_t in;
  std::int64_t out;
};

constexpr Layer kLayers[] = {{512, 576, 576},    {1024, 576, 1536},  {1024, 1536, 576},
                             {1024, 576, 49152}, {2048, 2048, 2048}, {64, 2048, 2048}};

/// A product as both libraries take it: c [m, n] = op(a) op(b), c (+)=.
struct Product {
  const char* name;
  std::int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate;
};

std::vector<Product> products(const Layer& layer) {
  return {{"forward", layer.tokens, layer.out, layer.in, false, true, false},
          {"dx", layer.tokens, layer.in, layer.out, false, false, false},
          {"dw", layer.out, layer.in, layer.tokens, true, false, true}};
}

/// The operands in f32 and in the dtype under test.
struct Operands {
  Operands(kernels::Device& device, const Product& p, Dtype dtype)
      : a(device.memory().allocate(static_cast<std::size_t>(p.m * p.k) * 4, "a")),
        b(device.memory().allocate(static_cast<std::size_t>(p.k * p.n) * 4, "b")),
        c(device.memory().allocate(static_cast<std::size_t>(p.m * p.n) * 4, "c")),
        a16(device.memory().allocate(a.bytes(), "a16")),
        b16(device.memory().allocate(b.bytes(), "b16")),
        a_view(p.transpose_a ? view(a16, dtype, p.k, p.m) : view(a16, dtype, p.m, p.k)),
        b_view(p.transpose_b ? view(b16, dtype, p.n, p.k) : view(b16, dtype, p.k, p.n)),
        c_view(view(c, Dtype::f32, p.m, p.n)) {
    fill(device, a, a_view);
    fill(device, b, b_view);
  }

  static TensorView view(const Memory& memory, Dtype dtype, std::int64_t rows, std::int64_t cols) {
    return {memory.data(), dtype, rows, cols};
  }
  static void fill(kernels::Device& device, const Memory& memory, const TensorView& narrow) {
    const TensorView wide = view(memory, Dtype::f32, narrow.rows, narrow.cols);
    for (std::int64_t i = 0; i < wide.count(); ++i) {
      wide.row<float>(0)[i] = to_uniform(static_cast<std::uint32_t>(i) * 0x9E3779B9U) - 0.5F;
    }
    kernels::cast(device, {narrow, wide});
  }

  Memory a, b, c, a16, b16;
  TensorView a_view, b_view, c_view;
};

void run_blas(const Product& p, const Operands& x) {
  cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
              p.transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(p.m),
              static_cast<blasint>(p.n), static_cast<blasint>(p.k), 1.0F,
              reinterpret_cast<const float*>(x.a.data()), static_cast<blasint>(x.a_view.cols),
              reinterpret_cast<const float*>(x.b.data()), static_cast<blasint>(x.b_view.cols),
              p.accumulate ? 1.0F : 0.0F, reinterpret_cast<float*>(x.c.data()),
              static_cast<blasint>(p.n));
}

void compare(kernels::Device& device, const Product& p, Dtype dtype) {
  const Operands x(device, p, dtype);
  const kernels::MatmulArgs args{.c = x.c_view,
                                 .a = x.a_view,
                                 .b = x.b_view,
                                 .transpose_a = p.transpose_a,
                                 .transpose_b = p.transpose_b,
                                 .accumulate = p.accumulate};
  const auto seconds =
      interleaved({[&] { kernels::matmul(device, args); }, [&] { run_blas(p, x); }},
                  {.threads = device.threads()});
  const double gflop = 2e-9 * static_cast<double>(p.m * p.n * p.k);
  fmt::print("{:5} {:8} {:6} x {:6} x {:6} {:9.1f} {:9.1f} {:6.2f}\n", to_string(dtype), p.name,
             p.m, p.n, p.k, gflop / seconds[0], gflop / seconds[1], seconds[1] / seconds[0]);
}

int run(int threads, const std::string& isa) {
  const auto device = kernels::open_device("cpu", {.threads = threads, .isa = isa});
  openblas_set_num_threads(threads);
  fmt::print("{}\n{:5} {:8} {:>6} x {:>6} x {:>6} {:>9} {:>9} {:>6}   GFLOP/s\n",
             device->description(), "dtype", "product", "m", "n", "k", "muster", "OpenBLAS",
             "ratio");
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (const Layer& layer : kLayers) {
      for (const Product& product : products(layer)) compare(*device, product, dtype);
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  return muster::bench::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? argv[2] : "");
}
