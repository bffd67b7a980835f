#include "collectives/shm/shares.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

// A list of counts in an arrive line: enough to see that two differ, and mostly where.
struct CountsTag {
  Places places;  // first: read alone by whoever wants places
  std::uint64_t digest = 0;
  std::int64_t own = 0;
};

// FNV-1a, a number at a time.
std::uint64_t digest_of(std::span<const std::int64_t> counts) noexcept {
  std::uint64_t digest = 0xCBF29CE484222325U;
  for (const std::int64_t count : counts) {
    digest = (digest ^ static_cast<std::uint64_t>(count)) * 0x100000001B3U;
  }
  return digest;
}

[[noreturn]] void throw_different(const Lane& lane, const Call& call, int other) {
  std::string where;
  for (int rank = 0; rank < lane.size() && where.empty(); ++rank) {
    const std::int64_t theirs = lane.payload_as<CountsTag>(rank).own;
    const std::int64_t here = call.out_counts[static_cast<std::size_t>(rank)];
    if (theirs == here) continue;
    where = fmt::format("; rank {} has {} elements itself, rank {} expects {} of it", rank, theirs,
                        lane.rank(), here);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: the counts of rank 0 and rank {} differ{}; every rank must give the "
                          "same list",
                          lane.describe_call(), other, where));
}

}  // namespace

Shares Shares::even(std::int64_t count) noexcept {
  Shares shares;
  shares.largest_ = count;
  return shares;
}

Shares Shares::of(std::span<const std::int64_t> counts, std::span<std::int64_t> begins) noexcept {
  Shares shares;
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    begins[rank] = begin;
    begin += counts[rank];
    shares.largest_ = std::max(shares.largest_, counts[rank]);
  }
  shares.counts_ = counts;
  shares.begins_ = begins;
  return shares;
}

Piece Shares::share(int rank) const noexcept {
  if (counts_.empty()) return {largest_ * rank, largest_};
  const auto index = static_cast<std::size_t>(rank);
  return {begins_[index], counts_[index]};
}

Piece Shares::part(int rank, const Piece& piece) const noexcept {
  const Piece whole = share(rank);
  const std::int64_t left = std::max<std::int64_t>(whole.count - piece.begin, 0);
  return {whole.begin + piece.begin, std::min(piece.count, left)};
}

void meet_with_counts(Lane& lane, const Call& call) {
  const std::int64_t own = call.out_counts[static_cast<std::size_t>(lane.rank())];
  lane.set_payload(CountsTag{places_of(lane.group(), call), digest_of(call.out_counts), own});
  lane.arrive();
  lane.meet();
  const std::uint64_t first = lane.payload_as<CountsTag>(0).digest;
  for (int rank = 1; rank < lane.size(); ++rank) {
    if (lane.payload_as<CountsTag>(rank).digest != first) throw_different(lane, call, rank);
  }
}

}  // namespace muster::collectives::shm
