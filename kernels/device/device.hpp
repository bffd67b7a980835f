#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/memory.hpp"

namespace muster::kernels {

struct OpTable;

/// One thing that computes: a CPU's share of cores, or a GPU.
///
/// Ops are queued in call order on the device's compute stream; on the CPU they have happened when
/// the call returns. One thread at a time may use a Device.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// "cpu", "cuda:0".
  virtual std::string name() const = 0;
  /// What a person wants to read in a log: "2 threads, avx512_bf16, oneDNN 2.6.3".
  virtual std::string description() const = 0;
  /// How many parts a loop is cut into: cores on a CPU.
  virtual int threads() const noexcept = 0;

  /// The kernels of this device. Callers use the checked functions of kernels/ops instead.
  virtual const OpTable& ops() const noexcept = 0;
  /// Plain device memory, not shared with any peer.
  virtual MemorySource& memory() noexcept = 0;

  /// At least `bytes` of 64-byte aligned memory for use inside one op. It grows on first use and is
  /// kept, so a step that has run once allocates nothing. Contents do not survive the op.
  virtual std::span<std::byte> scratch(std::size_t bytes) = 0;
  /// Bytes the scratch memory has grown to.
  virtual std::size_t scratch_bytes() const noexcept = 0;

  /// Waits until everything queued has happened.
  virtual void synchronize() = 0;
};

}  // namespace muster::kernels
