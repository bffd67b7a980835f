#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sched.h>
#include <sys/mman.h>

/// The measuring loop that the driver of muster and that of Open MPI share: sizes, repeats, buffers
/// and the binding of ranks to cores are one code, so that only the all_reduce differs.
namespace allreduce_loop {

inline constexpr std::array<std::size_t, 6> kSizes = {8,       4 << 10,  64 << 10,
                                                      1 << 20, 16 << 20, 64 << 20};
inline constexpr std::size_t kMaxBytes = kSizes.back();

inline void bind_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) std::perror("sched_setaffinity");
}

/// A private buffer of whole large pages, touched.
inline float* private_buffer() {
  constexpr std::size_t kPage = 2 << 20;
  void* const at = ::mmap(nullptr, kMaxBytes + kPage, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  const std::size_t into_page = reinterpret_cast<std::size_t>(at) % kPage;
  auto* const data =
      reinterpret_cast<float*>(static_cast<std::byte*>(at) + (kPage - into_page) % kPage);
  ::madvise(data, kMaxBytes, MADV_HUGEPAGE);
  std::memset(data, 0, kMaxBytes);
  return data;
}

/// The elements of one rank's share of a vector of `bytes`: at least one.
inline std::size_t share_count(std::size_t bytes, int ranks) {
  return std::max<std::size_t>(1, bytes / sizeof(float) / static_cast<std::size_t>(ranks));
}

inline int repeats(std::size_t bytes) {
  if (bytes <= 8 << 10) return 1000;
  if (bytes <= 256 << 10) return 50;
  if (bytes <= 4 << 20) return 8;
  return bytes <= 16 << 20 ? 2 : 1;
}

/// Microseconds of one call, over batches of calls.
struct Time {
  double median_us = 0.0;
  double best_us = 0.0;
};

template <typename AllReduce, typename Barrier>
Time measure(std::size_t bytes, AllReduce&& all_reduce, Barrier&& barrier) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatches = 21;
  const int n = repeats(bytes);
  std::vector<double> batches;
  for (int batch = -1; batch < kBatches; ++batch) {
    barrier();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < n; ++i) all_reduce();
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    if (batch >= 0) batches.push_back(time.count() / n);  // the first one warms up
  }
  std::sort(batches.begin(), batches.end());
  return {batches[kBatches / 2], batches.front()};
}

/// "WHAT BYTES MEDIAN BEST"
inline void report(const char* what, std::size_t bytes, const Time& time) {
  std::printf("%s %zu %.4f %.4f\n", what, bytes, time.median_us, time.best_us);
  std::fflush(stdout);
}

}  // namespace allreduce_loop
