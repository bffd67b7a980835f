#include "runtime/bench/measure.hpp"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/backends.hpp"
#include "kernels/devices.hpp"
#include "runtime/bench/pairs.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::runtime {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// Runs `body` as each of the ranks, in threads; what it returns on rank 0.
BenchRow as_ranks(int ranks, const std::function<BenchRow(collectives::Communicator&)>& body) {
  MemoryStore store;
  BenchRow result;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device = kernels::open_device("cpu", {});
        collectives::GroupSpec group;
        group.name = "test";
        group.rank = rank;
        group.size = ranks;
        group.hosts.assign(static_cast<std::size_t>(ranks), "here");
        group.cores_per_rank = 0;
        group.symmetric_limit = 64 << 20;
        const auto communicator = collectives::create_communicator("auto", group, store, *device,
                                                                   Deadline::after_seconds(60.0));
        const BenchRow row = body(*communicator);
        if (rank == 0) result = row;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  threads.clear();
  return result;
}

BenchOptions quick() {
  BenchOptions options;
  options.sizes = {.least = 8, .most = 4096};
  options.iterations = 20;
  options.timeout_s = 60.0;
  return options;
}

BenchRow measure(const BenchCase& which, const BenchOptions& options, int ranks,
                 std::int64_t bytes) {
  return as_ranks(ranks, [&](collectives::Communicator& group) {
    BenchBuffers buffers(group, buffer_bytes({which}, options.sizes.most, ranks),
                         static_cast<std::size_t>(options.unalign) * size_of(which.dtype));
    Bench bench(group, options, buffers);
    bench.warm_up(which);
    return bench.measure(which, bytes);
  });
}

TEST(Bench, MeasuresAndChecksARow) {
  const BenchRow row = measure({.operation = find_operation("all_reduce")}, quick(), 2, 1024);

  EXPECT_EQ(row.bytes, 1024);
  EXPECT_EQ(row.count, 256);
  EXPECT_EQ(row.type, "float");
  EXPECT_EQ(row.reduction, "sum");
  EXPECT_EQ(row.root, -1);
  for (const HalfResult& half : {row.out_of_place, row.in_place}) {
    EXPECT_EQ(half.wrong, 0);
    EXPECT_GT(half.time_us, 0.0);
    EXPECT_NEAR(half.algbw, 1024.0 / half.time_us / 1e3, 1e-9);
    EXPECT_NEAR(half.busbw, half.algbw, 1e-12);  // 2 (n - 1) / n of two ranks
    EXPECT_THAT(half.samples_us, SizeIs(16));
    EXPECT_TRUE(half.iterations_us.empty());
  }
}

class EveryOperation : public testing::TestWithParam<std::string> {};

TEST_P(EveryOperation, IsRightOnUnalignedBuffersOfEveryRoot) {
  const BenchOperation& operation = find_operation(GetParam());
  BenchOptions options = quick();
  options.iterations = 2;
  options.unalign = 1;
  for (int root = 0; root < (operation.has_root ? 3 : 1); ++root) {
    const BenchRow row =
        measure({.operation = operation, .dtype = Dtype::bf16, .root = root}, options, 3, 1000);
    EXPECT_EQ(row.out_of_place.wrong, 0) << row.out_of_place.first_wrong;
    EXPECT_EQ(row.in_place.wrong.has_value(), operation.works_in_place);
    EXPECT_EQ(row.in_place.wrong.value_or(0), 0) << row.in_place.first_wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOperation, testing::ValuesIn(parse_operations("all")),
                         [](const auto& test) { return test.param; });

TEST(Bench, MeasuresPairsOfRanks) {
  std::vector<PairMatrix> seen(3);
  as_ranks(3, [&](collectives::Communicator& group) {
    seen[static_cast<std::size_t>(group.rank())] = measure_pairs(group, 60.0);
    return BenchRow();
  });

  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(seen[0].latency_us[i][j] > 0.0, i != j);
      EXPECT_EQ(seen[0].bandwidth[i][j] > 0.0, i != j);
      EXPECT_EQ(seen[0].bandwidth[i][j], seen[0].bandwidth[j][i]);
    }
  }
  EXPECT_EQ(seen[0].latency_us, seen[2].latency_us);
}

TEST(Bench, KeepsIterationsOfEveryRankWithoutThoseSkipped) {
  BenchOptions options = quick();
  options.percentiles = true;
  options.per_iteration_skip = 5;

  const BenchRow row = measure({.operation = find_operation("broadcast")}, options, 3, 64);

  ASSERT_THAT(row.in_place.iterations_us, SizeIs(3));
  EXPECT_THAT(row.in_place.iterations_us[2], SizeIs(15));
}

TEST(Bench, DoesNotCheckWhenNotAsked) {
  BenchOptions options = quick();
  options.check_rounds = 0;

  EXPECT_FALSE(measure({.operation = find_operation("all_reduce")}, options, 2, 64)
                   .out_of_place.wrong.has_value());
}

TEST(Bench, MeasuresNothingAtAll) {
  const BenchRow row = measure({.operation = find_operation("all_gather")}, quick(), 2, 0);

  EXPECT_EQ(row.bytes, 0);
  EXPECT_EQ(row.out_of_place.wrong, 0);
  EXPECT_EQ(row.out_of_place.busbw, 0.0);
}

/// An all_reduce after which element 3 of rank 1's output is one bit off.
collectives::Pending start_corrupt(const BenchCall& call) {
  collectives::Pending pending = find_operation("all_reduce").start(call);
  pending.wait();
  if (call.group.rank() == 1) call.out[3 * sizeof(float)] ^= std::byte{1};
  return {};
}

TEST(Bench, CountsAndNamesOneWrongElement) {
  BenchOperation corrupt = find_operation("all_reduce");
  corrupt.start = start_corrupt;

  const BenchRow row = measure({.operation = corrupt}, quick(), 2, 1024);

  EXPECT_EQ(row.out_of_place.wrong, 1);
  EXPECT_THAT(row.out_of_place.first_wrong,
              HasSubstr("rank 1: 1 wrong element, the first [3] is "));
}

}  // namespace
}  // namespace muster::runtime
