#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "collectives/call.hpp"

/// What is checked of a call before any back end sees it. Each throws Error(invalid_argument) with
/// the call, its views and the reason.
namespace muster::collectives {

[[noreturn]] void refuse(const Call& call, std::string_view reason);

/// Views of every call that moves data: contiguous, not negative, one dtype, data where elements.
void check_views(const Call& call);

bool overlap(ConstTensorView a, ConstTensorView b) noexcept;
/// in and out may not overlap, unless `share` and `part`, where one lies in the other, are the
/// same.
void check_overlap(const Call& call, const std::byte* share, const std::byte* part);

/// `whole` holds a share for each of `size` ranks.
void check_whole(const Call& call, int size, std::string_view whole_name, ConstTensorView whole,
                 std::string_view share_name, ConstTensorView share);

/// A count per rank, none negative; returns their sum.
std::int64_t check_counts(const Call& call, std::span<const std::int64_t> counts, int size,
                          std::string_view name);

/// `peer` is a rank of the group.
void check_rank(const Call& call, int peer, int size, std::string_view name);

/// Where the share of `rank` begins when all have `bytes`.
template <typename View>
auto share_of(const View& whole, std::size_t bytes, int rank) {
  return whole.is_none() ? whole.data : whole.data + bytes * static_cast<std::size_t>(rank);
}

}  // namespace muster::collectives
