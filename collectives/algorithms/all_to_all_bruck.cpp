#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace muster::collectives::algorithms {
namespace {

// Blocks on their way. Block i is for the rank i further round and is carried there by the bits of
// i: in the step of a bit, all blocks that have it move on as far as it says, together.
class Carrier {
 public:
  Carrier(Lane& lane, std::size_t block_bytes)
      : lane_(lane), block_bytes_(block_bytes), half_(index((lane.size() + 1) / 2) * block_bytes) {
    const std::size_t blocks = index(lane.size()) * block_bytes;
    const std::span<std::byte> memory = lane.scratch.reserve(blocks + 2 * half_);
    blocks_ = memory.first(blocks);
    sent_ = memory.subspan(blocks, half_);
    received_ = memory.subspan(blocks + half_, half_);
  }

  std::byte* block(int number) const { return blocks_.data() + index(number) * block_bytes_; }

  void move(int bit) {
    std::size_t bytes = 0;
    for_each_with(bit, [&](std::byte* block) {
      std::copy_n(block, block_bytes_, sent_.data() + bytes);
      bytes += block_bytes_;
    });
    lane_.transport.receive(lane_.rank_at(-bit), received_.first(bytes));
    lane_.transport.send(lane_.rank_at(bit), sent_.first(bytes));
    lane_.transport.wait_all();
    bytes = 0;
    for_each_with(bit, [&](std::byte* block) {
      std::copy_n(received_.data() + bytes, block_bytes_, block);
      bytes += block_bytes_;
    });
  }

 private:
  template <typename Visit>
  void for_each_with(int bit, Visit&& visit) {
    for (int number = 0; number < lane_.size(); ++number) {
      if ((number & bit) != 0) visit(block(number));
    }
  }

  Lane& lane_;
  std::size_t block_bytes_;
  std::size_t half_;  // no bit is in more of the numbers
  std::span<std::byte> blocks_;
  std::span<std::byte> sent_;
  std::span<std::byte> received_;
};

}  // namespace

void all_to_all_bruck(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes() / index(lane.size());
  Carrier carrier(lane, bytes);
  for (int distance = 0; distance < lane.size(); ++distance) {
    std::copy_n(call.in.data + index(lane.rank_at(distance)) * bytes, bytes,
                carrier.block(distance));
  }
  for (int bit = 1; bit < lane.size(); bit *= 2) carrier.move(bit);
  for (int distance = 0; distance < lane.size(); ++distance) {
    std::copy_n(carrier.block(distance), bytes,
                call.out.data + index(lane.rank_at(-distance)) * bytes);
  }
}

}  // namespace muster::collectives::algorithms
