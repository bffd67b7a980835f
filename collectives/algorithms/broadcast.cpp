#include <algorithm>
#include <array>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/algorithms/tree.hpp"

namespace muster::collectives::algorithms {
namespace {

// The shares of the places [begin, end) of the tree: adjacent, as shares lie in order of places.
Share branch(const TreePlace& tree, Shares shares, int begin, int end) {
  const Share first = shares[static_cast<std::size_t>(tree.rank_of(begin))];
  const Share last = shares[static_cast<std::size_t>(tree.rank_of(end - 1))];
  return {first.begin, last.begin + last.count - first.begin};
}

// The root of a small broadcast waits for nobody, so that it goes on while the others are on their
// way; all wait now and then, so that nobody is many calls ahead.
bool is_led(Lane& lane, const Call& call) {
  constexpr std::size_t kMostBytes = 8 << 10;  // they fit into a connection beside those before
  return call.in.bytes() <= kMostBytes && ++lane.led % Transport::kMaxLead != 0;
}

}  // namespace

void broadcast_binomial(Lane& lane, const Call& call) {
  const TreePlace tree(lane, call.root);
  if (!is_led(lane, call)) tree.signal_up(lane);
  if (!tree.is_root()) {
    lane.transport.wait(lane.transport.receive(tree.parent(), bytes_of(call.out)));
  }
  tree.for_each_child([&](int child, int /*place*/, int /*extent*/) {
    lane.transport.send(child, bytes_of(call.in));
  });
  lane.transport.wait_all();
}

void broadcast_chain(Lane& lane, const Call& call) {
  constexpr std::int64_t kAtOnce = 2;  // pieces on the way, in each direction
  const bool is_first = lane.rank() == call.root;
  const bool is_last = lane.rank_at(1) == call.root;
  const auto most = static_cast<std::int64_t>(lane.piece_bytes / size_of(call.in.dtype));
  const std::int64_t length = std::max<std::int64_t>(1, most);
  const std::int64_t pieces = (call.count + length - 1) / length;
  std::array<Transport::Ticket, kAtOnce> coming = {};
  std::array<Transport::Ticket, kAtOnce> going = {};
  const auto piece_at = [&](std::int64_t piece) {
    return view_of(call.out, piece_of({0, call.count}, length, piece));
  };
  const auto receive = [&](std::int64_t piece) {
    if (is_first || piece >= pieces) return;
    coming[static_cast<std::size_t>(piece % kAtOnce)] =
        lane.transport.receive(lane.rank_at(-1), bytes_of(piece_at(piece)));
  };
  if (!is_first) lane.transport.send(lane.rank_at(-1), {});
  if (!is_last) lane.transport.receive(lane.rank_at(1), {});
  for (std::int64_t piece = 0; piece < kAtOnce; ++piece) receive(piece);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const auto slot = static_cast<std::size_t>(piece % kAtOnce);
    if (!is_first) lane.transport.wait(coming[slot]);
    receive(piece + kAtOnce);
    if (is_last) continue;
    if (piece >= kAtOnce) lane.transport.wait(going[slot]);
    going[slot] = lane.transport.send(lane.rank_at(1), bytes_of(ConstTensorView(piece_at(piece))));
  }
  lane.transport.wait_all();
}

void broadcast_scatter(Lane& lane, const Call& call) {
  const TreePlace tree(lane, call.root);
  const Shares even = even_shares(lane, call.count);
  const std::span<Share> shares = lane.scratch.shares(lane.size());
  std::rotate(shares.begin(), shares.end() - call.root, shares.end());
  tree.signal_up(lane);
  if (!tree.is_root()) {
    const Share mine = branch(tree, even, tree.place(), tree.end());
    lane.transport.wait(lane.transport.receive(tree.parent(), bytes_of(view_of(call.out, mine))));
  }
  tree.for_each_child([&](int child, int place, int extent) {
    const Share theirs = branch(tree, even, place, tree.end_of(place, extent));
    lane.transport.send(child, bytes_of(view_of(call.in, theirs)));
  });
  lane.transport.wait_all();
  run(lane, Ring{.out = call.out, .shares = even, .gathers = true});
}

}  // namespace muster::collectives::algorithms
