#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/bruck.hpp"
#include "collectives/algorithms/pairwise_exchange.hpp"
#include "collectives/algorithms/ring.hpp"

namespace muster::collectives::algorithms {
namespace {

// The shares of the call; that of this rank is in place.
Shares begin(Lane& lane, const Call& call) {
  const Shares shares = call.kind == CallKind::all_gather_v ? shares_of(lane, call.out_counts)
                                                            : even_shares(lane, call.out.count());
  copy(lane.device, view_of(call.out, shares[static_cast<std::size_t>(lane.rank())]), call.in);
  return shares;
}

}  // namespace

void all_gather_ring(Lane& lane, const Call& call) {
  run(lane, Ring{.out = call.out, .shares = begin(lane, call), .gathers = true});
}

void all_gather_pairwise(Lane& lane, const Call& call) {
  const Shares shares = begin(lane, call);
  exchange_pairwise(
      lane, [&](int /*to*/) { return bytes_of(call.in); },
      [&](int from) {
        return bytes_of(view_of(call.out, shares[static_cast<std::size_t>(from)]));
      });
}

void all_gather_bruck(Lane& lane, const Call& call) {
  const std::span<std::byte> blocks = gather_blocks(lane, call.in);
  const std::size_t bytes = call.in.bytes();
  for (int block = 0; block < lane.size(); ++block) {
    std::copy_n(blocks.data() + static_cast<std::size_t>(block) * bytes, bytes,
                call.out.data + static_cast<std::size_t>(lane.rank_at(block)) * bytes);
  }
}

}  // namespace muster::collectives::algorithms
