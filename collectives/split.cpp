#include "collectives/split.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

// A rank of the parent, and where it wants to be.
struct Member {
  int rank = 0;
  int color = 0;
  int key = 0;
};

std::string key_of(const GroupSpec& parent, std::int64_t split, int rank) {
  return fmt::format("comm/{}/split/{}/{}", parent.name, split, rank);
}

// "COLOR KEY"
Member parse(int rank, std::string_view text) {
  Member member{.rank = rank};
  const char* const end = text.data() + text.size();
  const auto color = std::from_chars(text.data(), end, member.color);
  const bool has_key = color.ec == std::errc() && color.ptr != end && *color.ptr == ' ';
  const auto key = std::from_chars(has_key ? color.ptr + 1 : end, end, member.key);
  if (key.ec != std::errc() || key.ptr != end) {
    throw Error(ErrorCode::io, fmt::format("rank {} of a split published \"{}\", not its color and "
                                           "key",
                                           rank, text));
  }
  return member;
}

Member member_at(const GroupSpec& parent, Store& store, std::int64_t split, int rank,
                 Deadline deadline) {
  try {
    return parse(rank, store.get(key_of(parent, split, rank), deadline));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    throw Error(ErrorCode::timeout, fmt::format("split {} of group {}: rank {} has not come: {}",
                                                split, parent.name, rank, error.what()));
  }
}

}  // namespace

std::optional<GroupSpec> split_group(const GroupSpec& parent, Store& store, int color, int key,
                                     Deadline deadline) {
  // Every rank counts its own splits of this parent, so that all agree on this one's number.
  const std::string counter = fmt::format("comm/{}/splits/{}", parent.name, parent.rank);
  const std::int64_t split = store.add(counter, 1) - 1;
  store.set(key_of(parent, split, parent.rank), fmt::format("{} {}", color, key));
  if (color < 0) return std::nullopt;

  std::vector<Member> members;
  for (int rank = 0; rank < parent.size; ++rank) {
    const Member member = member_at(parent, store, split, rank, deadline);
    if (member.color == color) members.push_back(member);
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
  });

  std::vector<int> ranks;
  ranks.reserve(members.size());
  for (const Member& member : members) ranks.push_back(member.rank);
  return subgroup(parent, fmt::format("{}.split{}.{}", parent.name, split, color), ranks);
}

}  // namespace muster::collectives
