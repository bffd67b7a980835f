#include "collectives/algorithms/lane.hpp"

#include <algorithm>

#include "collectives/copy.hpp"

namespace muster::collectives::algorithms {

std::span<std::byte> Scratch::reserve(std::size_t bytes) {
  const std::size_t lines = (bytes + kAlignment - 1) / kAlignment;
  if (lines > lines_.size()) lines_.resize(lines);
  return std::as_writable_bytes(std::span(lines_));
}

std::span<ConstTensorView> Scratch::sources(int ranks) {
  sources_.resize(static_cast<std::size_t>(ranks));
  return sources_;
}

std::span<Transport::Ticket> Scratch::tickets(std::size_t count) {
  tickets_.resize(count);
  return tickets_;
}

std::span<Share> Scratch::shares(int ranks) {
  shares_.resize(static_cast<std::size_t>(ranks));
  return shares_;
}

Shares even_shares(Lane& lane, std::int64_t count) {
  const std::span<Share> shares = lane.scratch.shares(lane.size());
  const std::int64_t quotient = count / lane.size();
  const std::int64_t longer = count % lane.size();
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    shares[rank] = {begin, quotient + (static_cast<std::int64_t>(rank) < longer ? 1 : 0)};
    begin += shares[rank].count;
  }
  return shares;
}

Shares shares_of(Lane& lane, std::span<const std::int64_t> counts) {
  const std::span<Share> shares = lane.scratch.shares(lane.size());
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    shares[rank] = {begin, counts[rank]};
    begin += counts[rank];
  }
  return shares;
}

Shares same_shares(Lane& lane, std::int64_t count) {
  const std::span<Share> shares = lane.scratch.shares(lane.size());
  std::fill(shares.begin(), shares.end(), Share{0, count});
  return shares;
}

Shares root_share(Lane& lane, std::int64_t count, int root) {
  const std::span<Share> shares = lane.scratch.shares(lane.size());
  std::fill(shares.begin(), shares.end(), Share{});
  shares[static_cast<std::size_t>(root)] = {0, count};
  return shares;
}

Share piece_of(Share share, std::int64_t length, std::int64_t index) noexcept {
  const std::int64_t offset = std::min(share.count, length * index);
  return {share.begin + offset, std::min(length, share.count - offset)};
}

void copy(kernels::Device& device, TensorView to, ConstTensorView from) {
  const std::size_t bytes = from.bytes();
  collectives::copy(device, to.data, from.data, bytes, exceeds_caches(bytes));
}

}  // namespace muster::collectives::algorithms
