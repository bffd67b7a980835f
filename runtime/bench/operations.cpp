#include "runtime/bench/operations.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using collectives::CallKind;
using collectives::Pending;

constexpr std::int64_t kGranuleBytes = 16;  // shares of a rank are whole multiples of it

TensorView view(std::byte* data, const BenchCall& call, std::int64_t count) {
  return {data, call.dtype, 1, count};
}
TensorView in_of(const BenchCall& call) {
  return view(call.in, call, call.layout.in);
}
TensorView out_of(const BenchCall& call) {
  return view(call.out, call, call.layout.out);
}
/// For the ranks whose side of a rooted call is not used.
TensorView nothing(const BenchCall& call) {
  return view(nullptr, call, 0);
}
bool is_root(const BenchCall& call) {
  return call.group.rank() == call.root;
}

std::int64_t share_of(const LayoutRequest& request) {
  const auto size = static_cast<std::int64_t>(request.element_bytes);
  const std::int64_t granule = std::max<std::int64_t>(1, kGranuleBytes / size);
  return request.count / request.ranks / granule * granule;
}

// Layouts.

BenchLayout same_on_all(const LayoutRequest& request) {
  return {.in = request.count, .out = request.count, .per_rank = request.count};
}
BenchLayout shares_to_whole(const LayoutRequest& request) {
  const std::int64_t share = share_of(request);
  return {.in = share, .out = share * request.ranks, .per_rank = share, .in_offset = share};
}
BenchLayout whole_to_shares(const LayoutRequest& request) {
  const std::int64_t share = share_of(request);
  return {.in = share * request.ranks, .out = share, .per_rank = share, .out_offset = share};
}
BenchLayout whole_to_whole(const LayoutRequest& request) {
  const std::int64_t share = share_of(request);
  return {.in = share * request.ranks, .out = share * request.ranks, .per_rank = share};
}

/// Elements from rank `from` to rank `to`: all, three quarters or half of an equal share.
std::int64_t uneven_share(std::int64_t share, int from, int to) {
  return share - share / 4 * ((from + to) % 3);
}

BenchLayout uneven_to_uneven(const LayoutRequest& request) {
  BenchLayout layout = whole_to_whole(request);
  const std::int64_t share = layout.per_rank;
  layout.in = 0;
  for (int from = 0; from < request.ranks; ++from) {
    std::int64_t sum = 0;
    for (int to = 0; to < request.ranks; ++to) sum += uneven_share(share, from, to);
    layout.in = std::max(layout.in, sum);
  }
  layout.out = layout.in;  // the table of shares is symmetric
  for (int peer = 0; peer < request.ranks; ++peer) {
    layout.in_counts.push_back(uneven_share(share, request.rank, peer));
    layout.out_counts.push_back(uneven_share(share, peer, request.rank));
  }
  return layout;
}

// Elements that algbw counts, and bus factors.

std::int64_t count_per_rank(const BenchLayout& layout, int /*ranks*/) {
  return layout.per_rank;
}
std::int64_t count_of_all_ranks(const BenchLayout& layout, int ranks) {
  return layout.per_rank * ranks;
}
std::int64_t count_of_busiest(const BenchLayout& layout, int /*ranks*/) {
  return std::max(layout.in, layout.out);
}

double factor_one(int /*ranks*/) {
  return 1.0;
}
double factor_others(int ranks) {
  return static_cast<double>(ranks - 1) / ranks;
}
double factor_twice_others(int ranks) {
  return 2.0 * factor_others(ranks);
}

// Calls.

Pending start_all_reduce(const BenchCall& call) {
  return call.group.all_reduce(in_of(call), out_of(call), call.op, call.options);
}
Pending start_all_gather(const BenchCall& call) {
  return call.group.all_gather(in_of(call), out_of(call), call.options);
}
Pending start_reduce_scatter(const BenchCall& call) {
  return call.group.reduce_scatter(in_of(call), out_of(call), call.op, call.options);
}
Pending start_broadcast(const BenchCall& call) {
  return call.group.broadcast(is_root(call) ? in_of(call) : out_of(call), call.root, call.options);
}
Pending start_reduce(const BenchCall& call) {
  return call.group.reduce(in_of(call), is_root(call) ? out_of(call) : nothing(call), call.op,
                           call.root, call.options);
}
Pending start_all_to_all(const BenchCall& call) {
  return call.group.all_to_all(in_of(call), out_of(call), call.options);
}
Pending start_all_to_all_v(const BenchCall& call) {
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  const BenchLayout& layout = call.layout;
  return call.group.all_to_all_v(view(call.in, call, sum(layout.in_counts)),
                                 view(call.out, call, sum(layout.out_counts)), layout.in_counts,
                                 layout.out_counts, call.options);
}
Pending start_gather(const BenchCall& call) {
  return call.group.gather(in_of(call), is_root(call) ? out_of(call) : nothing(call), call.root,
                           call.options);
}
Pending start_scatter(const BenchCall& call) {
  return call.group.scatter(is_root(call) ? in_of(call) : nothing(call), out_of(call), call.root,
                            call.options);
}
/// A ring: to the next rank, from the one before.
Pending start_sendrecv(const BenchCall& call) {
  const int ranks = call.group.size();
  const int rank = call.group.rank();
  return call.group.send_receive(in_of(call), (rank + 1) % ranks, out_of(call),
                                 (rank + ranks - 1) % ranks, call.options);
}

// What must be in the output.

std::vector<Segment> whole_reduction(const OutputPlace& place) {
  return {{.count = place.layout.out}};
}
std::vector<Segment> own_share_of_reduction(const OutputPlace& place) {
  return {{.count = place.layout.out, .first = place.rank * place.layout.out}};
}
std::vector<Segment> reduction_on_root(const OutputPlace& place) {
  return place.rank == place.root ? whole_reduction(place) : std::vector<Segment>{};
}
std::vector<Segment> shares_of_all(const OutputPlace& place) {
  std::vector<Segment> segments;
  segments.reserve(static_cast<std::size_t>(place.ranks));
  const std::int64_t share = place.layout.per_rank;
  for (int r = 0; r < place.ranks; ++r) {
    segments.push_back({.begin = r * share, .count = share, .origin = r});
  }
  return segments;
}
std::vector<Segment> shares_of_all_on_root(const OutputPlace& place) {
  return place.rank == place.root ? shares_of_all(place) : std::vector<Segment>{};
}
/// The root's own data stays where it was.
std::vector<Segment> copy_of_root(const OutputPlace& place) {
  if (place.rank == place.root && !place.is_in_place) return {};
  return {{.count = place.layout.out, .origin = place.root}};
}
std::vector<Segment> own_share_of_root(const OutputPlace& place) {
  return {{.count = place.layout.out,
           .origin = place.root,
           .first = place.rank * place.layout.per_rank}};
}
std::vector<Segment> own_shares_of_all(const OutputPlace& place) {
  std::vector<Segment> segments = shares_of_all(place);
  for (Segment& segment : segments) segment.first = place.rank * place.layout.per_rank;
  return segments;
}
std::vector<Segment> own_uneven_shares_of_all(const OutputPlace& place) {
  std::vector<Segment> segments;
  segments.reserve(static_cast<std::size_t>(place.ranks));
  const std::int64_t share = place.layout.per_rank;
  std::int64_t begin = 0;
  for (int from = 0; from < place.ranks; ++from) {
    const std::int64_t count = uneven_share(share, from, place.rank);
    std::int64_t first = 0;
    for (int to = 0; to < place.rank; ++to) first += uneven_share(share, from, to);
    segments.push_back({.begin = begin, .count = count, .origin = from, .first = first});
    begin += count;
  }
  return segments;
}
std::vector<Segment> copy_of_previous(const OutputPlace& place) {
  return {{.count = place.layout.out, .origin = (place.rank + place.ranks - 1) % place.ranks}};
}

constexpr std::array<BenchOperation, 10> kOperations = {{
    {.name = "all_reduce",
     .kind = CallKind::all_reduce,
     .is_reduction = true,
     .layout = same_on_all,
     .counted = count_per_rank,
     .bus_factor = factor_twice_others,
     .start = start_all_reduce,
     .expected = whole_reduction},
    {.name = "all_gather",
     .kind = CallKind::all_gather,
     .layout = shares_to_whole,
     .counted = count_of_all_ranks,
     .bus_factor = factor_others,
     .start = start_all_gather,
     .expected = shares_of_all},
    {.name = "reduce_scatter",
     .kind = CallKind::reduce_scatter,
     .is_reduction = true,
     .layout = whole_to_shares,
     .counted = count_of_all_ranks,
     .bus_factor = factor_others,
     .start = start_reduce_scatter,
     .expected = own_share_of_reduction},
    {.name = "broadcast",
     .kind = CallKind::broadcast,
     .has_root = true,
     .layout = same_on_all,
     .counted = count_per_rank,
     .bus_factor = factor_one,
     .start = start_broadcast,
     .expected = copy_of_root},
    {.name = "reduce",
     .kind = CallKind::reduce,
     .is_reduction = true,
     .has_root = true,
     .layout = same_on_all,
     .counted = count_per_rank,
     .bus_factor = factor_one,
     .start = start_reduce,
     .expected = reduction_on_root},
    {.name = "alltoall",
     .kind = CallKind::all_to_all,
     .works_in_place = false,
     .layout = whole_to_whole,
     .counted = count_of_all_ranks,
     .bus_factor = factor_others,
     .start = start_all_to_all,
     .expected = own_shares_of_all},
    {.name = "alltoallv",
     .kind = CallKind::all_to_all_v,
     .works_in_place = false,
     .layout = uneven_to_uneven,
     .counted = count_of_busiest,
     .bus_factor = factor_others,
     .start = start_all_to_all_v,
     .expected = own_uneven_shares_of_all},
    {.name = "gather",
     .kind = CallKind::gather,
     .has_root = true,
     .layout = shares_to_whole,
     .counted = count_of_all_ranks,
     .bus_factor = factor_others,
     .start = start_gather,
     .expected = shares_of_all_on_root},
    {.name = "scatter",
     .kind = CallKind::scatter,
     .has_root = true,
     .layout = whole_to_shares,
     .counted = count_of_all_ranks,
     .bus_factor = factor_others,
     .start = start_scatter,
     .expected = own_share_of_root},
    {.name = "sendrecv",
     .kind = CallKind::send_receive,
     .works_in_place = false,
     .layout = same_on_all,
     .counted = count_per_rank,
     .bus_factor = factor_one,
     .start = start_sendrecv,
     .expected = copy_of_previous},
}};

}  // namespace

std::span<const BenchOperation> bench_operations() {
  return kOperations;
}

std::vector<std::string> parse_operations(std::string_view text) {
  std::string_view name = text;
  if (name.ends_with("_perf")) name.remove_suffix(5);
  std::vector<std::string> names;
  std::vector<std::string> chosen;
  for (const BenchOperation& operation : kOperations) {
    names.emplace_back(operation.name);
    if (name == operation.name || text == "all") chosen.emplace_back(operation.name);
  }
  if (!chosen.empty()) return chosen;
  names.emplace_back("all");
  names.emplace_back("compare");
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::config,
              fmt::format("there is no benchmark {}{}; there are {}", quote(text),
                          near.empty() ? "" : fmt::format(", did you mean {}?", near),
                          fmt::join(names, ", ")));
}

const BenchOperation& find_operation(std::string_view name) {
  const auto found =
      std::find_if(kOperations.begin(), kOperations.end(),
                   [&](const BenchOperation& operation) { return operation.name == name; });
  MUSTER_ASSERT(found != kOperations.end());
  return *found;
}

}  // namespace muster::runtime
