#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::kernels::cpu {

/// Calls fn(begin, end) over consecutive parts of [0, n), at most one part per thread, and returns
/// when all are done. Every part but the last is a multiple of `grain`, so no part is smaller than
/// what is worth a thread and vector loops see a remainder only at the end. Which index falls into
/// which part depends on n, grain and threads alone. One part runs on the caller without a team;
/// more than one on a team that always has `threads` members, since changing its size starts
/// threads.
///
/// fn must not throw. A sum whose order matters must not depend on the parts: cut it into blocks of
/// fixed size first.
template <typename Function>
void parallel_for(int threads, std::int64_t n, std::int64_t grain, const Function& fn) {
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t parts = std::min<std::int64_t>(threads, grains);
  if (parts <= 1) {
    if (n > 0) fn(std::int64_t{0}, n);
    return;
  }
  const auto boundary = [=](std::int64_t part) {
    return std::min(n, grains * part / parts * grain);
  };
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) fn(boundary(part), boundary(part + 1));
}

}  // namespace muster::kernels::cpu
