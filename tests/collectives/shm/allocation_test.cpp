#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "tests/collectives/rank_threads.hpp"

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* data) noexcept {
  std::free(data);
}
void operator delete[](void* data) noexcept {
  std::free(data);
}
void operator delete(void* data, std::size_t /*bytes*/) noexcept {
  std::free(data);
}
void operator delete[](void* data, std::size_t /*bytes*/) noexcept {
  std::free(data);
}

/// A step of training allocates nothing, so neither does a collective after the first ones.
namespace muster::collectives {
namespace {

constexpr std::int64_t kCounts[] = {2, 200, 20000, 400000};

void call_everything(Communicator& group, std::vector<float>& a, std::vector<float>& b, int lane) {
  const CallOptions options{.lane = lane};
  for (const std::int64_t count : kCounts) {
    const std::int64_t whole = count * group.size();
    group
        .all_reduce(vector_view(a.data(), count), vector_view(b.data(), count), ReduceOp::sum,
                    options)
        .wait();
    group.all_gather(vector_view(a.data(), count), vector_view(b.data(), whole), options).wait();
    group
        .reduce_scatter(vector_view(b.data(), whole), vector_view(a.data(), count), ReduceOp::avg,
                        options)
        .wait();
    group.broadcast(vector_view(a.data(), count), 0, options).wait();
  }
}

void call_the_rest(Communicator& group, std::vector<float>& a, std::vector<float>& b, int lane) {
  const CallOptions options{.lane = lane};
  for (const std::int64_t count : kCounts) {
    const std::array<std::int64_t, 2> counts = {count, count / 2};
    const TensorView part = vector_view(a.data(), count);
    const TensorView whole = vector_view(b.data(), 2 * count);
    const TensorView share = vector_view(a.data(), counts[static_cast<std::size_t>(group.rank())]);
    const TensorView shares = vector_view(b.data(), count + count / 2);
    group.reduce(part, vector_view(b.data(), count), ReduceOp::max, 1, options).wait();
    group.gather(part, whole, 0, options).wait();
    group.scatter(whole, part, 1, options).wait();
    group.all_to_all(vector_view(a.data(), 2 * count), whole, options).wait();
    group.all_gather_v(share, shares, counts, options).wait();
    group.reduce_scatter_v(shares, share, counts, ReduceOp::sum, options).wait();
    const auto equal = std::array{count / 2, count / 2};
    group
        .all_to_all_v(vector_view(a.data(), count), vector_view(b.data(), count), equal, equal,
                      options)
        .wait();
    const int peer = 1 - group.rank();
    group.send_receive(part, peer, vector_view(b.data(), count), peer, options).wait();
  }
}

class Allocations : public testing::TestWithParam<BackendUnderTest> {};

TEST_P(Allocations, StopAfterTheFirstCallsOfALane) {
  const RankThreads threads{.backend = GetParam(), .ranks = 2, .cores_per_rank = 2};
  threads.run([](Communicator& group) {
    std::vector<float> a(800000);
    std::vector<float> b(800000);
    for (const int lane : {0, 1}) {
      call_everything(group, a, b, lane);
      call_the_rest(group, a, b, lane);
      group.barrier();
      const long before = allocations.load();
      group.barrier();

      for (int round = 0; round < 3; ++round) {
        call_everything(group, a, b, lane);
        call_the_rest(group, a, b, lane);
      }

      group.barrier();
      EXPECT_EQ(allocations.load(), before) << "lane " << lane;
      group.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Allocations, testing::ValuesIn(backends_of_many()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
