#pragma once

#include "kernels/base/memory.hpp"

namespace muster::kernels::cpu {

/// Memory of this process that no peer can reach. Blocks of 2 MiB and more lie on huge pages where
/// the system has them, and cost nothing until they are touched. Zero bytes give an empty Memory.
class PlainMemory final : public MemorySource {
 public:
  Memory allocate(std::size_t bytes, std::string_view what) override;
  std::size_t allocated() const noexcept override { return allocated_; }

 private:
  std::size_t allocated_ = 0;
};

}  // namespace muster::kernels::cpu
