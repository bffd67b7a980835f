#include "kernels/cpu/cpu_device.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace {

constexpr std::size_t kScratchUnit = 4096;

int checked_threads(int threads) {
  if (threads >= 1) return threads;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a CPU device needs at least 1 thread, not {}", threads));
}

}  // namespace

CpuDevice::CpuDevice(int threads, Isa isa)
    : threads_(checked_threads(threads)),
      isa_(isa),
      ops_(op_table(isa)),
      gemm_library_(isa, threads) {}

std::string CpuDevice::description() const {
  return fmt::format("{} thread{}, {}, {}", threads_, threads_ == 1 ? "" : "s", to_string(isa_),
                     gemm_library_.description());
}

std::span<std::byte> CpuDevice::scratch(std::size_t bytes) {
  if (bytes > scratch_.bytes()) {
    const std::size_t rounded = (bytes + kScratchUnit - 1) / kScratchUnit * kScratchUnit;
    scratch_ = Memory();  // first: the old contents are not needed, so never hold both
    scratch_ = scratch_source_.allocate(rounded, "scratch of an op");
  }
  return {scratch_.data(), scratch_.bytes()};
}

}  // namespace muster::kernels::cpu
