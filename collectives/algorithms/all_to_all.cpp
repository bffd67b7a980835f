#include <array>

#include <fmt/format.h>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/pairwise_exchange.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::algorithms {
namespace {

// What a rank sends to another and expects from it, in elements.
struct Counts {
  std::int64_t out = 0;
  std::int64_t in = 0;
};

void check_counts(const Call& call, int rank, int peer, const Counts& theirs) {
  const auto compare = [&](int from, std::int64_t sent, int to, std::int64_t expected) {
    if (sent == expected) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("all_to_all_v seq {}: rank {} sends {} elements to rank {}, which "
                            "expects {} (lane {}); in_counts of the one must be out_counts of the "
                            "other",
                            call.sequence, from, sent, to, expected, call.options.lane));
  };
  compare(rank, call.in_counts[index(peer)], peer, theirs.in);
  compare(peer, theirs.out, rank, call.out_counts[index(peer)]);
}

// Every pair compares before any pair moves data, so that both of a pair find out.
void agree_on_counts(Lane& lane, const Call& call) {
  const std::size_t ranks = index(lane.size());
  const std::span<std::byte> memory = lane.scratch.reserve(2 * ranks * sizeof(Counts));
  auto* const mine = reinterpret_cast<Counts*>(memory.data());
  Counts* const theirs = mine + ranks;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    mine[rank] = {call.in_counts[rank], call.out_counts[rank]};
  }
  exchange_pairwise(
      lane, [&](int to) { return std::as_bytes(std::span(mine + to, 1)); },
      [&](int from) { return std::as_writable_bytes(std::span(theirs + from, 1)); });
  for (int peer = 0; peer < lane.size(); ++peer) {
    if (peer != lane.rank()) check_counts(call, lane.rank(), peer, theirs[peer]);
  }
}

// The share of every rank in a vector of `counts`, for a function of ranks: shares follow each
// other, so their begins are found by walking there once.
class Walk {
 public:
  explicit Walk(std::span<const std::int64_t> counts) : counts_(counts) {}

  Share of(int rank) {
    if (rank < at_) {
      at_ = 0;
      begin_ = 0;
    }
    for (; at_ < rank; ++at_) begin_ += counts_[index(at_)];
    return {begin_, counts_[index(rank)]};
  }

 private:
  std::span<const std::int64_t> counts_;
  int at_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace

void all_to_all_pairwise(Lane& lane, const Call& call) {
  const Shares shares = even_shares(lane, call.in.count());
  const Share own = shares[index(lane.rank())];
  copy(lane.device, view_of(call.out, own), view_of(call.in, own));
  exchange_pairwise(
      lane, [&](int to) { return bytes_of(view_of(call.in, shares[index(to)])); },
      [&](int from) { return bytes_of(view_of(call.out, shares[index(from)])); });
}

void all_to_all_v_pairwise(Lane& lane, const Call& call) {
  agree_on_counts(lane, call);
  Walk out(call.in_counts);
  Walk in(call.out_counts);
  copy(lane.device, view_of(call.out, in.of(lane.rank())), view_of(call.in, out.of(lane.rank())));
  exchange_pairwise(
      lane, [&](int to) { return bytes_of(view_of(call.in, out.of(to))); },
      [&](int from) { return bytes_of(view_of(call.out, in.of(from))); });
}

}  // namespace muster::collectives::algorithms
