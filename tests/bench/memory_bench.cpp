// The memory-bound kernels of the CPU device beside a memcpy that moves as many bytes.
//
//   memory_bench [threads] [KiB per buffer]

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <omp.h>

#include "kernels/devices.hpp"
#include "kernels/ops/adamw.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/reduce.hpp"
#include "tests/bench/timing.hpp"

namespace muster::bench {
namespace {

class Bench {
 public:
  Bench(int threads, std::size_t buffer_bytes)
      : threads_(threads),
        buffer_bytes_(buffer_bytes),
        device_(kernels::open_device("cpu", {.threads = threads})),
        copy_from_(allocate(buffer_bytes)),
        copy_to_(allocate(buffer_bytes)) {
    fmt::print("{}, {} KiB per buffer\n", device_->description(), buffer_bytes >> 10);
    fmt::print("{:40} {:>8} {:>8} {:>6}\n", "", "GB/s", "memcpy", "ratio");
  }

  void reduce(Dtype dtype, std::size_t sources, std::size_t destinations, bool streaming);
  void adamw(bool has_compute);
  void norm_squared(Dtype dtype);
  void cast();

 private:
  Memory allocate(std::size_t bytes) const {
    Memory memory = device_->memory().allocate(bytes, "a buffer");
    std::memset(memory.data(), 0, bytes);
    return memory;
  }
  TensorView view(const Memory& memory, Dtype dtype) const {
    return {memory.data(), dtype, 1, static_cast<std::int64_t>(memory.bytes() / size_of(dtype))};
  }
  /// memcpy of one buffer, on as many threads as the device uses.
  void copy() const;
  void report(const std::string& name, double bytes, const std::function<void()>& fn) const;

  int threads_;
  std::size_t buffer_bytes_;
  std::unique_ptr<kernels::Device> device_;
  Memory copy_from_;
  Memory copy_to_;
};

void Bench::copy() const {
  const std::size_t part = buffer_bytes_ / static_cast<std::size_t>(threads_);
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
  for (int t = 0; t < threads_; ++t) {
    const std::size_t at = part * static_cast<std::size_t>(t);
    std::memcpy(copy_to_.data() + at, copy_from_.data() + at, part);
  }
}

void Bench::report(const std::string& name, double bytes, const std::function<void()>& fn) const {
  const auto seconds = interleaved({fn, [this] { copy(); }}, {.threads = threads_});
  const double rate = bytes / seconds[0] * 1e-9;
  const double copy_rate = 2.0 * static_cast<double>(buffer_bytes_) / seconds[1] * 1e-9;
  fmt::print("{:40} {:8.1f} {:8.1f} {:6.2f}\n", name, rate, copy_rate, rate / copy_rate);
}

void Bench::reduce(Dtype dtype, std::size_t sources, std::size_t destinations, bool streaming) {
  std::vector<Memory> memories;
  std::vector<ConstTensorView> from;
  std::vector<TensorView> to;
  for (std::size_t i = 0; i < sources + destinations; ++i) {
    memories.push_back(allocate(buffer_bytes_));
    if (i < sources) {
      from.push_back(view(memories.back(), dtype));
    } else {
      to.push_back(view(memories.back(), dtype));
    }
  }
  report(fmt::format("reduce {} {} to {}{}", to_string(dtype), sources, destinations,
                     streaming ? " streaming" : ""),
         static_cast<double>((sources + destinations) * buffer_bytes_), [&] {
           kernels::reduce(*device_, {to, from, kernels::ReduceOp::sum, streaming});
         });
}

void Bench::adamw(bool has_compute) {
  const Memory memories[] = {allocate(buffer_bytes_), allocate(buffer_bytes_),
                             allocate(buffer_bytes_), allocate(buffer_bytes_),
                             allocate(buffer_bytes_ / 2)};
  const kernels::AdamwStep step{.lr = 1e-3F};
  kernels::AdamwArgs args{.master = view(memories[0], Dtype::f32),
                          .m = view(memories[1], Dtype::f32),
                          .v = view(memories[2], Dtype::f32),
                          .grad = view(memories[3], Dtype::f32),
                          .weight_decay = 0.1F,
                          .step = &step};
  if (has_compute) args.compute = view(memories[4], Dtype::bf16);
  report(fmt::format("adamw{}", has_compute ? " with a bf16 copy" : ""),
         (has_compute ? 7.5 : 7.0) * static_cast<double>(buffer_bytes_),
         [&] { kernels::adamw(*device_, args); });
}

void Bench::norm_squared(Dtype dtype) {
  const Memory x = allocate(buffer_bytes_);
  const Memory out = allocate(2 * sizeof(double));
  report(fmt::format("norm_squared {}", to_string(dtype)), static_cast<double>(buffer_bytes_), [&] {
    kernels::norm_squared(*device_, {view(out, Dtype::f64), view(x, dtype)});
  });
}

void Bench::cast() {
  const Memory x = allocate(buffer_bytes_);
  const Memory y = allocate(buffer_bytes_ / 2);
  report("cast f32 to bf16", 1.5 * static_cast<double>(buffer_bytes_), [&] {
    kernels::cast(*device_, {view(y, Dtype::bf16), view(x, Dtype::f32)});
  });
}

int run(int threads, std::size_t buffer_bytes) {
  Bench bench(threads, buffer_bytes);
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const bool streaming : {false, true}) {
      bench.reduce(dtype, 2, 1, streaming);
      bench.reduce(dtype, 2, 2, streaming);
      bench.reduce(dtype, 4, 1, streaming);
      bench.reduce(dtype, 4, 4, streaming);
      bench.reduce(dtype, 8, 1, streaming);
      bench.reduce(dtype, 8, 8, streaming);
    }
    bench.norm_squared(dtype);
  }
  bench.reduce(Dtype::i64, 2, 1, false);
  bench.adamw(false);
  bench.adamw(true);
  bench.cast();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const long kib = argc > 2 ? std::atol(argv[2]) : 65536;
  return muster::bench::run(threads, static_cast<std::size_t>(kib) << 10);
}
