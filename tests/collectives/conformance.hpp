#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/exact_data.hpp"
#include "tests/collectives/rank_threads.hpp"

/// What every back end must do with data: for every size of group, dtype, op, place and awkward
/// count. Inputs are small whole numbers, so every result is exact and the same on all ranks.
///
/// Not the whole product of these is tried unless MUSTER_WHOLE_CONFORMANCE=1 or MUSTER_BIG_TESTS=1:
/// ops other than sum with three dtypes, large groups with fewer counts. The latter adds the
/// largest count: every dtype with sum, every op with f32.
///
/// Each test that passes has the property "cases" in its report: how many combinations of call,
/// op, dtype, count, ranks and place it tried.
namespace muster::collectives {

using ConformanceCase = std::tuple<BackendUnderTest, int, Place>;

/// One call of a test: its dtype, op and number of elements, and a root that changes from call to
/// call.
struct Shape {
  Dtype dtype = Dtype::f32;
  ReduceOp op = ReduceOp::sum;
  std::int64_t count = 0;
  int root = 0;
};

class Conformance : public testing::TestWithParam<ConformanceCase> {
 protected:
  static constexpr std::array kDtypes = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                                         Dtype::i64, Dtype::i32, Dtype::i8,  Dtype::u8};
  static constexpr std::array kOps = {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min,
                                      ReduceOp::prod};
  static constexpr std::int64_t kHugeCount = 10556587;
  static constexpr std::int64_t kMiddleCount = 100003;

  const BackendUnderTest& backend() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
  Place place() const { return std::get<2>(GetParam()); }

  void as_each_rank(const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = backend(), .ranks = ranks()}.run(body);
    if (!HasFailure()) RecordProperty("cases", cases_.load());
  }

  /// Calls that reduce, and calls that only move elements.
  std::vector<Shape> reductions() const {
    std::vector<Shape> shapes;
    for (const Dtype dtype : kDtypes) {
      const bool has_all_ops =
          is_whole() || dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::i32;
      for (const ReduceOp op : kOps) {
        if (op == ReduceOp::sum || has_all_ops) add_counts(dtype, op, shapes);
      }
    }
    return counted(std::move(shapes));
  }
  std::vector<Shape> moves() const {
    std::vector<Shape> shapes;
    for (const Dtype dtype : kDtypes) add_counts(dtype, ReduceOp::sum, shapes);
    return counted(std::move(shapes));
  }
  /// One dtype, one op, all counts: for what depends on neither.
  std::vector<Shape> counts_of(Dtype dtype) const {
    std::vector<Shape> shapes;
    add_counts(dtype, ReduceOp::sum, shapes);
    return counted(std::move(shapes));
  }

  /// Bytes that hold the data of any of these calls.
  std::size_t most_bytes() const {
    const std::int64_t huge = has_huge_count() ? kHugeCount * 8 : 0;
    return static_cast<std::size_t>(std::max(backend().largest_count * 8, huge));
  }

 private:
  static bool is_set(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && std::string_view(value) == "1";
  }
  static bool is_big() { return is_set("MUSTER_BIG_TESTS"); }
  static bool is_whole() { return is_big() || is_set("MUSTER_WHOLE_CONFORMANCE"); }
  // Sanitizers would take hours for it.
  bool has_huge_count() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return is_big() && backend().takes_huge_counts;
#endif
  }

  // Every rank asks for the same.
  std::vector<Shape> counted(std::vector<Shape> shapes) const {
    cases_.store(static_cast<int>(shapes.size()), std::memory_order_relaxed);
    return shapes;
  }

  void add_counts(Dtype dtype, ReduceOp op, std::vector<Shape>& shapes) const {
    const bool is_chosen =
        op == ReduceOp::sum && (dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::i8);
    std::vector<std::int64_t> counts = {0, 1, 2, 3, 7, 17, 31, 1023, 4095, 4097};
    const bool is_large_group = ranks() > 4 && !is_whole();
    if (is_large_group) counts = {1, 17, 1023, 4097};
    if (is_large_group && is_chosen) counts.push_back(kMiddleCount);
    if (is_chosen && !is_large_group) counts.push_back(backend().largest_count);
    if (has_huge_count() && (op == ReduceOp::sum || dtype == Dtype::f32)) {
      counts.push_back(kHugeCount);
    }
    for (const std::int64_t count : counts) {
      const int root = static_cast<int>(shapes.size()) % ranks();
      shapes.push_back({dtype, op, count, root});
    }
  }

  mutable std::atomic<int> cases_{0};
};

inline std::string to_string(Place place) {
  switch (place) {
    case Place::symmetric: return "symmetric";
    case Place::private_memory: return "private";
    case Place::unaligned: return "unaligned";
  }
  return "nowhere";
}

inline std::vector<ConformanceCase> all_conformance_cases() {
  std::vector<ConformanceCase> cases;
  for (const BackendUnderTest& backend : all_backends()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      if (ranks < backend.least_ranks || ranks > backend.most_ranks) continue;
      for (const Place place : {Place::symmetric, Place::private_memory, Place::unaligned}) {
        cases.emplace_back(backend, ranks, place);
      }
    }
  }
  return cases;
}

inline std::string name_of_case(const testing::TestParamInfo<ConformanceCase>& test) {
  const auto& [backend, ranks, place] = test.param;
  return fmt::format("{}_{}_{}", backend.name, ranks, to_string(place));
}

/// What `rank` puts into a call, and what the reduction of all ranks' inputs is.
inline Pattern inputs(int rank, const Shape& shape) {
  return {shape.dtype, [&](std::int64_t i) {
            return static_cast<double>(input_value(rank, i, shape.op, shape.dtype));
          }};
}
inline Pattern results(int ranks, const Shape& shape) {
  return {shape.dtype,
          [&](std::int64_t i) { return reduced_value(ranks, i, shape.op, shape.dtype); }};
}

inline std::string describe(const Communicator& group, const Shape& shape) {
  return fmt::format("rank {} of {}, {}[{}] {}, root {}", group.rank(), group.size(),
                     to_string(shape.dtype), shape.count, to_string(shape.op), shape.root);
}

/// `total` elements in shares that are unequal, some of them empty; which, depends on `total`.
inline std::vector<std::int64_t> unequal_shares(std::int64_t total, int ranks) {
  constexpr std::array<std::int64_t, 8> kWeights = {3, 0, 1, 5, 0, 2, 7, 1};
  std::vector<std::int64_t> shares;
  std::int64_t left = total;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto turn = static_cast<std::size_t>(total + rank) % kWeights.size();
    const std::int64_t share = rank + 1 == ranks ? left : total * kWeights[turn] / 24;
    shares.push_back(std::min(share, left));
    left -= shares.back();
  }
  return shares;
}

/// Memory for what a rank gives and what it gets.
struct Buffers {
  Buffers(Communicator& group, Place place, std::size_t bytes)
      : in(group, place, bytes), out(group, place, bytes) {}

  bool guards_are_intact() const { return in.guards_are_intact() && out.guards_are_intact(); }

  GuardedBuffer in;
  GuardedBuffer out;
};

}  // namespace muster::collectives
