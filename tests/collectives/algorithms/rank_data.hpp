#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"
#include "tests/collectives/exact_data.hpp"

namespace muster::collectives::algorithms {

/// One call of any kind as every rank makes it. `count` elements are the longest vector's, about.
struct Problem {
  CallKind kind = CallKind::all_reduce;
  int ranks = 1;
  std::int64_t count = 0;
  Dtype dtype = Dtype::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool in_place = false;

  std::int64_t share() const { return count / ranks; }
  /// Unequal shares, some of them empty, that add up to about `count`.
  std::int64_t count_of(int rank) const { return rank % 3 == 1 ? 0 : share() + rank; }
  std::int64_t begin_of(int rank) const {
    std::int64_t begin = 0;
    for (int before = 0; before < rank; ++before) begin += count_of(before);
    return begin;
  }
  /// What rank `from` sends to rank `to` in an all_to_all_v.
  std::int64_t count_between(int from, int to) const {
    return (from + 2 * to) % 3 == 0 && from != to ? 0 : share() + from - to + ranks;
  }
};

/// One rank's memory for a problem: the call, and whether its result is right. Elements have values
/// by their number in the vector they belong to, so that a misplaced one shows.
class RankData {
 public:
  RankData(const Problem& problem, int rank) : problem_(problem), rank_(rank) {
    for (int other = 0; other < problem.ranks; ++other) {
      shares_.push_back(problem.count_of(other));
      outgoing_.push_back(problem.count_between(rank, other));
      incoming_.push_back(problem.count_between(other, rank));
    }
    lay_out();
    fill();
  }

  Call call() {
    Call call{
        .kind = problem_.kind, .in = in_, .out = out_, .op = problem_.op, .root = problem_.root};
    call.count = signature_count();
    if (problem_.kind == CallKind::all_to_all_v) {
      call.in_counts = outgoing_;
      call.out_counts = incoming_;
    } else {
      call.out_counts = shares_;
    }
    if (problem_.kind == CallKind::send_receive) {
      call.to = (rank_ + 1) % problem_.ranks;
      call.from = (rank_ + problem_.ranks - 1) % problem_.ranks;
    }
    return call;
  }

  bool is_right() const;
  bool guards_are_intact() const {
    return std::all_of(memory_.end() - kGuard, memory_.end(), is_mark) &&
           std::all_of(memory_.begin(), memory_.begin() + kGuard, is_mark);
  }
  std::vector<std::byte> result() const { return {out_.data, out_.data + out_.bytes()}; }

 private:
  static constexpr std::int64_t kGuard = 64;
  static constexpr std::byte kMark{0xA5};
  static bool is_mark(std::byte byte) { return byte == kMark; }

  std::int64_t signature_count() const {
    switch (problem_.kind) {
      case CallKind::barrier:
      case CallKind::all_to_all_v:
      case CallKind::send_receive: return 0;
      case CallKind::all_gather_v:
      case CallKind::reduce_scatter_v: return problem_.begin_of(problem_.ranks);
      case CallKind::scatter: return problem_.share();
      default: return in_.count();
    }
  }

  bool is_root() const { return rank_ == problem_.root; }
  std::int64_t in_count() const;
  std::int64_t out_count() const;
  std::int64_t begin_of_share() const;
  void lay_out();
  void fill();

  Pattern input_of(int rank) const {
    return {problem_.dtype, [=, this](std::int64_t i) {
              return static_cast<double>(input_value(rank, i, problem_.op, problem_.dtype));
            }};
  }
  Pattern reduced() const {
    return {problem_.dtype, [this](std::int64_t i) {
              return reduced_value(problem_.ranks, i, problem_.op, problem_.dtype);
            }};
  }
  bool has_input_of(int rank, std::int64_t at, Share share) const {
    return input_of(rank).is_at(out_.data + at * width(), share.begin, share.count);
  }
  std::int64_t width() const { return static_cast<std::int64_t>(size_of(problem_.dtype)); }

  Problem problem_;
  int rank_;
  std::vector<std::int64_t> shares_;
  std::vector<std::int64_t> outgoing_;
  std::vector<std::int64_t> incoming_;
  std::vector<std::byte> memory_;
  TensorView in_;
  TensorView out_;
};

inline std::int64_t RankData::in_count() const {
  switch (problem_.kind) {
    case CallKind::barrier: return 0;
    case CallKind::all_gather:
    case CallKind::gather: return problem_.share();
    case CallKind::reduce_scatter:
    case CallKind::all_to_all: return problem_.share() * problem_.ranks;
    case CallKind::scatter: return is_root() ? problem_.share() * problem_.ranks : 0;
    case CallKind::all_gather_v: return problem_.count_of(rank_);
    case CallKind::reduce_scatter_v: return problem_.begin_of(problem_.ranks);
    case CallKind::all_to_all_v: {
      std::int64_t sum = 0;
      for (const std::int64_t count : outgoing_) sum += count;
      return sum;
    }
    default: return problem_.count;
  }
}

inline std::int64_t RankData::out_count() const {
  switch (problem_.kind) {
    case CallKind::barrier: return 0;
    case CallKind::all_gather:
    case CallKind::all_to_all: return problem_.share() * problem_.ranks;
    case CallKind::gather: return is_root() ? problem_.share() * problem_.ranks : 0;
    case CallKind::reduce: return is_root() ? problem_.count : 0;
    case CallKind::reduce_scatter:
    case CallKind::scatter: return problem_.share();
    case CallKind::all_gather_v: return problem_.begin_of(problem_.ranks);
    case CallKind::reduce_scatter_v: return problem_.count_of(rank_);
    case CallKind::all_to_all_v: {
      std::int64_t sum = 0;
      for (const std::int64_t count : incoming_) sum += count;
      return sum;
    }
    default: return problem_.count;
  }
}

// Where a rank's share of the longer of both views begins, for those kinds that have such a one.
inline std::int64_t RankData::begin_of_share() const {
  switch (problem_.kind) {
    case CallKind::all_gather:
    case CallKind::reduce_scatter:
    case CallKind::gather:
    case CallKind::scatter: return problem_.share() * rank_;
    case CallKind::all_gather_v:
    case CallKind::reduce_scatter_v: return problem_.begin_of(rank_);
    default: return 0;
  }
}

// Not aligned to more than an element. In place one view lies in the other.
inline void RankData::lay_out() {
  const std::int64_t in_bytes = in_count() * width();
  const std::int64_t out_bytes = out_count() * width();
  memory_.assign(static_cast<std::size_t>(3 * kGuard + in_bytes + out_bytes), kMark);
  std::byte* const begin = memory_.data() + kGuard + width();
  in_ = {begin, problem_.dtype, 1, in_count()};
  out_ = {begin + in_bytes, problem_.dtype, 1, out_count()};
  if (problem_.kind == CallKind::broadcast) out_.data = begin;
  const bool is_shared = problem_.in_place && in_count() > 0 && out_count() > 0;
  if (!is_shared) return;
  (in_count() < out_count() ? in_ : out_).data = begin + begin_of_share() * width();
  (in_count() < out_count() ? out_ : in_).data = begin;
}

// A whole vector has elements 0 to its end, a share those that it has in the whole.
inline void RankData::fill() {
  const bool is_share = problem_.kind == CallKind::all_gather ||
                        problem_.kind == CallKind::all_gather_v ||
                        problem_.kind == CallKind::gather;
  input_of(rank_).fill(in_.data, is_share ? begin_of_share() : 0, in_.count());
}

inline bool RankData::is_right() const {
  const std::int64_t n = out_.count();
  bool is_good = true;
  switch (problem_.kind) {
    case CallKind::barrier: return true;
    case CallKind::broadcast: return has_input_of(problem_.root, 0, {0, n});
    case CallKind::scatter: return has_input_of(problem_.root, 0, {begin_of_share(), n});
    case CallKind::send_receive:
      return has_input_of((rank_ + problem_.ranks - 1) % problem_.ranks, 0, {0, n});
    case CallKind::all_gather:
    case CallKind::gather:
      for (int rank = 0; n > 0 && rank < problem_.ranks; ++rank) {
        const std::int64_t at = problem_.share() * rank;
        is_good = is_good && has_input_of(rank, at, {at, problem_.share()});
      }
      return is_good;
    case CallKind::all_gather_v:
      for (int rank = 0; rank < problem_.ranks; ++rank) {
        const std::int64_t at = problem_.begin_of(rank);
        is_good = is_good && has_input_of(rank, at, {at, problem_.count_of(rank)});
      }
      return is_good;
    case CallKind::all_to_all:
      for (int rank = 0; rank < problem_.ranks; ++rank) {
        const Share share{problem_.share() * rank_, problem_.share()};
        is_good = is_good && has_input_of(rank, problem_.share() * rank, share);
      }
      return is_good;
    case CallKind::all_to_all_v: {
      std::int64_t at = 0;
      for (int rank = 0; rank < problem_.ranks; ++rank) {
        std::int64_t begin = 0;
        for (int to = 0; to < rank_; ++to) begin += problem_.count_between(rank, to);
        const std::int64_t count = problem_.count_between(rank, rank_);
        is_good = is_good && has_input_of(rank, at, {begin, count});
        at += count;
      }
      return is_good;
    }
    default: return reduced().is_at(out_.data, begin_of_share(), n);
  }
}

}  // namespace muster::collectives::algorithms
