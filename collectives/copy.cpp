#include "collectives/copy.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "kernels/base/tensor_view.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// Below this the call of a kernel costs more than its threads or its streaming stores can save.
constexpr std::size_t kPlainCopy = 64 * kKiB;

// A part of the last-level cache, which all ranks fill. On a processor with 480 MiB of it, calls of
// 16 MiB are a twentieth quicker through the caches, those of 64 MiB a quarter to two thirds
// slower.
constexpr std::size_t kPartOfCache = 20;
constexpr std::size_t kLeastStreaming = 8 * kMiB;
constexpr std::size_t kMostStreaming = 24 * kMiB;

}  // namespace

bool exceeds_caches(std::size_t bytes) noexcept {
  static const std::size_t limit = [] {
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where it is not known
    return std::clamp(static_cast<std::size_t>(std::max(cache, 0L)) / kPartOfCache, kLeastStreaming,
                      kMostStreaming);
  }();
  return bytes > limit;
}

void copy(kernels::Device& device, std::byte* dst, const std::byte* src, std::size_t bytes,
          bool streaming) {
  if (dst == src || bytes == 0) return;
  if (bytes <= kPlainCopy) {
    std::memcpy(dst, src, bytes);
    return;
  }
  // The greatest of one number is that number: a reduction of one source is a copy.
  const auto count = static_cast<std::int64_t>(bytes);
  const TensorView destination(dst, Dtype::u8, 1, count);
  const ConstTensorView source(src, Dtype::u8, 1, count);
  kernels::reduce(device, {.destinations = {&destination, 1},
                           .sources = {&source, 1},
                           .op = kernels::ReduceOp::max,
                           .streaming = streaming});
}

}  // namespace muster::collectives
