#include "collectives/call_check.hpp"

#include <string>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

std::int64_t times(std::int64_t count, int size) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(count, static_cast<std::int64_t>(size), &product) ? -1 : product;
}

}  // namespace

void refuse(const Call& call, std::string_view reason) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}{}{}: in {}, out {}: {}", to_string(call.kind),
                          call.options.label.empty() ? "" : " ", call.options.label,
                          to_string(call.in), to_string(call.out), reason));
}

void check_views(const Call& call) {
  if (call.in.rows < 0 || call.in.cols < 0 || call.out.rows < 0 || call.out.cols < 0) {
    refuse(call, "rows and columns must not be negative");
  }
  if (call.in.dtype != call.out.dtype) refuse(call, "in and out must have one dtype");
  if (!call.in.is_contiguous() || !call.out.is_contiguous()) {
    refuse(call, "views must be contiguous; copy the columns together first");
  }
  if ((call.in.count() > 0 && call.in.is_none()) || (call.out.count() > 0 && call.out.is_none())) {
    refuse(call, "a view has elements but no data");
  }
}

bool overlap(ConstTensorView a, ConstTensorView b) noexcept {
  return a.data < b.data + b.bytes() && b.data < a.data + a.bytes();
}

void check_overlap(const Call& call, const std::byte* share, const std::byte* part) {
  if (share == part || !overlap(call.in, call.out)) return;
  refuse(call, "in and out overlap in part");
}

void check_whole(const Call& call, int size, std::string_view whole_name, ConstTensorView whole,
                 std::string_view share_name, ConstTensorView share) {
  if (whole.count() == times(share.count(), size)) return;
  refuse(call, fmt::format("{} must have {} x {}'s count for {} ranks", whole_name, size,
                           share_name, size));
}

std::int64_t check_counts(const Call& call, std::span<const std::int64_t> counts, int size,
                          std::string_view name) {
  if (counts.size() != static_cast<std::size_t>(size)) {
    refuse(call, fmt::format("{} {} given for {} ranks", counts.size(), name, size));
  }
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] < 0 || __builtin_add_overflow(sum, counts[rank], &sum)) {
      refuse(call, fmt::format("{}[{}] is {}", name, rank, counts[rank]));
    }
  }
  return sum;
}

void check_rank(const Call& call, int peer, int size, std::string_view name) {
  if (peer >= 0 && peer < size) return;
  refuse(call, fmt::format("{} {} is not a rank of a group of {}", name, peer, size));
}

}  // namespace muster::collectives
