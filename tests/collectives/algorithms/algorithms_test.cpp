#include <array>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/algorithms/list.hpp"
#include "tests/collectives/algorithms/lane_threads.hpp"
#include "tests/collectives/algorithms/rank_data.hpp"

/// Every algorithm of the list gives the right data, for every size of group, op, dtype and awkward
/// count, over a network that moves nothing before both ends want it.
namespace muster::collectives::algorithms {
namespace {

constexpr std::array kDtypes = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                                Dtype::i64, Dtype::i32, Dtype::i8,  Dtype::u8};
constexpr std::array kOps = {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min,
                             ReduceOp::prod};
constexpr std::array<std::int64_t, 8> kCounts = {0, 1, 2, 7, 17, 63, 1023, 4097};
// Small, so that these counts are many pieces.
constexpr std::size_t kPieceBytes = 1000;

using Case = std::tuple<std::size_t, int>;  // number in the list, ranks

std::string name_of(const testing::TestParamInfo<Case>& test) {
  const Algorithm& algorithm = all_algorithms()[std::get<0>(test.param)];
  return fmt::format("{}_{}_{}", to_string(algorithm.kind), algorithm.name,
                     std::get<1>(test.param));
}

class Algorithms : public testing::TestWithParam<Case> {
 protected:
  const Algorithm& algorithm() const { return all_algorithms()[std::get<0>(GetParam())]; }
  int ranks() const { return std::get<1>(GetParam()); }
  Problem problem(std::int64_t count) const {
    return {.kind = algorithm().kind, .ranks = ranks(), .count = count};
  }

  // Whatever the ranks hold for these problems is right at the end of each.
  void solve(const std::vector<Problem>& problems) const {
    solve(problems, false);
    // The others do not care.
    if (algorithm().name == "pairwise") solve(problems, true);
  }
  void solve(const std::vector<Problem>& problems, bool crosses_hosts) const {
    const LocalNetwork network("test", ranks());
    as_each_rank(network, ranks(), kPieceBytes, [&](RankLane& self) {
      self.lane.crosses_hosts = crosses_hosts;
      for (const Problem& problem : problems) {
        RankData data(problem, self.lane.rank());

        self.perform(algorithm(), data.call());

        ASSERT_TRUE(data.is_right() && data.guards_are_intact())
            << fmt::format("rank {}: {}[{}] {} root {}{}", self.lane.rank(),
                           to_string(problem.dtype), problem.count, to_string(problem.op),
                           problem.root, problem.in_place ? " in place" : "");
      }
    });
  }
};

TEST_P(Algorithms, GiveTheRightDataForEveryCountAndRoot) {
  std::vector<Problem> problems;
  for (const std::int64_t count : kCounts) {
    for (int root = 0; root < (has_root(algorithm().kind) ? ranks() : 1); ++root) {
      problems.push_back(problem(count));
      problems.back().root = root;
    }
  }
  solve(problems);
}

TEST_P(Algorithms, GiveTheRightDataForEveryDtypeAndOp) {
  std::vector<Problem> problems;
  for (const Dtype dtype : kDtypes) {
    for (const ReduceOp op : kOps) {
      if (op != ReduceOp::sum && !is_reduction(algorithm().kind)) continue;
      for (const std::int64_t count : {13, 1023}) {
        problems.push_back(problem(count));
        problems.back().dtype = dtype;
        problems.back().op = op;
        problems.back().root = ranks() - 1;
      }
    }
  }
  solve(problems);
}

class InPlaceAlgorithms : public Algorithms {};

TEST_P(InPlaceAlgorithms, GiveTheRightData) {
  std::vector<Problem> problems;
  for (const std::int64_t count : kCounts) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      problems.push_back(problem(count));
      problems.back().dtype = dtype;
      problems.back().in_place = true;
    }
  }
  solve(problems);
}

std::vector<std::size_t> numbers(bool only_in_place) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < all_algorithms().size(); ++i) {
    const CallKind kind = all_algorithms()[i].kind;
    const bool is_apart = kind == CallKind::all_to_all || kind == CallKind::all_to_all_v ||
                          kind == CallKind::send_receive;
    if (!only_in_place || !is_apart) numbers.push_back(i);
  }
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(List, Algorithms,
                         testing::Combine(testing::ValuesIn(numbers(false)), testing::Range(1, 10)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(List, InPlaceAlgorithms,
                         testing::Combine(testing::ValuesIn(numbers(true)), testing::Range(1, 10)),
                         name_of);

}  // namespace
}  // namespace muster::collectives::algorithms
