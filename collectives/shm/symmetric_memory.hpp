#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "collectives/shm/group.hpp"
#include "collectives/shm/lane.hpp"
#include "kernels/base/memory.hpp"

namespace muster::collectives::shm {

/// The heap of a rank's segment, handed out at equal offsets on all ranks of the group.
///
/// Every allocation is a meeting: the ranks compare bytes and offset, each puts memory behind its
/// own range, and they tell each other how that went, so that an allocation succeeds or fails
/// everywhere. A range that is given back goes to the next request of its very size; ranks must
/// therefore give back in one order too. Pages given back return to the system.
///
/// Errors: invalid_argument names two ranks and what they asked for; out_of_memory names the rank
/// that has none.
class SymmetricMemory final : public MemorySource {
 public:
  SymmetricMemory(const Group& group, kernels::Device& device)
      : group_(group), lane_(group, kMemoryLane, device), end_(heap_begin(group.size)) {}

  Memory allocate(std::size_t bytes, std::string_view what) override;
  std::size_t allocated() const noexcept override { return allocated_; }

  /// Returns once all ranks have come: the meeting that ends the making of a group.
  void meet(Deadline deadline);

 private:
  struct Range {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  void open(std::size_t bytes, std::string_view what);
  Range find(std::size_t bytes) const noexcept;
  void take(const Range& range);
  bool fits(const Range& range) const noexcept;
  void agree_on(const Range& range);
  void agree_that_backed(bool is_backed, std::string_view what, std::size_t bytes);
  bool back(const Range& range) noexcept;
  void release(const Range& range) noexcept;

  const Group& group_;
  Lane lane_;
  std::size_t end_;                                       // of what was ever handed out
  std::map<std::size_t, std::vector<std::size_t>> free_;  // bytes -> offsets
  std::size_t allocated_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace muster::collectives::shm
