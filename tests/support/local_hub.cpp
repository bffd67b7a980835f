#include "tests/support/local_hub.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/seconds.hpp"

namespace muster::collectives {
namespace {

using Clock = Deadline::Clock;

}  // namespace

LocalHub::LocalHub(std::string group_in, int size_in, LocalLink link_in)
    : group(std::move(group_in)),
      size(size_in),
      link(link_in),
      ranks(static_cast<std::size_t>(size_in)) {
  for (LocalRank& rank : ranks) rank.loses_next.resize(ranks.size());
  for (Lane& lane : lanes_) {
    lane.directions.resize(ranks.size() * ranks.size());
    lane.wires.resize(ranks.size());
    lane.begun.resize(ranks.size());
  }
  room_.resize(link.kept_messages * LocalLink::kKeptBytes);
  for (std::size_t at = 0; at < room_.size(); at += LocalLink::kKeptBytes) {
    free_room_.push_back(room_.data() + at);
  }
}

std::byte* LocalHub::take_room(std::size_t bytes) {
  if (free_room_.empty() || bytes > LocalLink::kKeptBytes) return nullptr;
  std::byte* const room = free_room_.back();
  free_room_.pop_back();
  return room;
}

void LocalHub::wake_all() {
  for (const Lane& lane : lanes_) {
    for (LocalWire* const wire : lane.wires) {
      if (wire != nullptr) wire->wake();
    }
  }
}

void LocalHub::match(int lane, int from, int to) {
  LocalDirection& way = direction(lane, from, to);
  while (!mismatch && !way.sends.empty() && !way.receives.empty()) {
    const LocalPost sent = way.sends.front();
    const LocalPost wanted = way.receives.front();
    if (sent.signature != wanted.signature) {
      mismatch = signature_mismatch(
          group, lane,
          from < to ? RankedSignature{from, sent.signature} : RankedSignature{to, wanted.signature},
          from < to ? RankedSignature{to, wanted.signature}
                    : RankedSignature{from, sent.signature});
      return wake_all();
    }
    if (sent.bytes != wanted.bytes) {
      mismatch = Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: rank {} sends {} bytes, rank {} expects {} (group {}, lane "
                      "{})",
                      to_string(sent.signature), from, sent.bytes, to, wanted.bytes, group, lane));
      return wake_all();
    }
    const double seconds =
        link.bytes_per_s > 0.0 ? static_cast<double>(sent.bytes) / link.bytes_per_s : 0.0;
    if (sent.bytes > 0) std::memcpy(wanted.data, sent.data, sent.bytes);
    way.free_at = std::max(way.free_at, Clock::now()) + duration_of(seconds);
    if (sent.is_kept) {
      free_room_.push_back(sent.data);
    } else {
      wire(lane, from)->finish(sent.ticket, way.free_at);
    }
    wire(lane, to)->finish(wanted.ticket, way.free_at + duration_of(link.delay_s));
    way.sends.pop_front();
    way.receives.pop_front();
  }
}

}  // namespace muster::collectives
