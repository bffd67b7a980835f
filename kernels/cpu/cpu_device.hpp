#pragma once

#include "kernels/cpu/gemm_library.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/plain_memory.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels::cpu {

/// This rank's share of a host's cores. Ops run when they are called, on an OpenMP team of
/// `threads`, and have finished when the call returns.
class CpuDevice final : public Device {
 public:
  /// Error(invalid_argument) unless threads >= 1. `isa` is supported: choose_isa said so.
  CpuDevice(int threads, Isa isa);

  std::string name() const override { return "cpu"; }
  std::string description() const override;
  int threads() const noexcept override { return threads_; }
  GemmLibrary& gemm_library() noexcept { return gemm_library_; }

  const OpTable& ops() const noexcept override { return ops_; }
  MemorySource& memory() noexcept override { return memory_; }

  std::span<std::byte> scratch(std::size_t bytes) override;
  std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }

  void synchronize() override {}

 private:
  int threads_;
  Isa isa_;
  const OpTable& ops_;
  PlainMemory memory_;
  PlainMemory scratch_source_;  // apart from memory_, whose count is the caller's
  Memory scratch_;
  GemmLibrary gemm_library_;
};

}  // namespace muster::kernels::cpu
