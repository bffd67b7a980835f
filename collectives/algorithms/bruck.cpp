#include "collectives/algorithms/bruck.hpp"

#include <algorithm>

namespace muster::collectives::algorithms {

std::span<std::byte> gather_blocks(Lane& lane, ConstTensorView own) {
  const std::size_t bytes = own.bytes();
  const auto ranks = static_cast<std::size_t>(lane.size());
  const std::span<std::byte> blocks = lane.scratch.reserve(ranks * bytes);
  std::copy_n(own.data, bytes, blocks.data());
  for (int have = 1; have < lane.size(); have *= 2) {
    const auto begin = static_cast<std::size_t>(have) * bytes;
    const auto length = static_cast<std::size_t>(std::min(have, lane.size() - have)) * bytes;
    lane.transport.receive(lane.rank_at(have), blocks.subspan(begin, length));
    lane.transport.send(lane.rank_at(-have), blocks.first(length));
    lane.transport.wait_all();
  }
  return blocks.first(ranks * bytes);
}

}  // namespace muster::collectives::algorithms
