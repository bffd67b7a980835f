// A rank that uses groups as a program may: several calls in flight on two lanes, groups split off
// and freed in an order that differs from rank to rank, and two threads on two lanes of one group.
// Every result is checked. Prints `N calls right` and exits with 0, or says what is wrong.
//
// Environment: MUSTER_GROUPS_BACKEND (default auto), MUSTER_GROUPS_ROUNDS (default 20)

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "collectives/backends.hpp"
#include "collectives/split.hpp"
#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "runtime/world/group.hpp"
#include "tests/system/rank_program.hpp"

namespace muster {
namespace {

using collectives::Communicator;
using collectives::GroupSpec;
using collectives::Pending;
using collectives::ReduceOp;
using test::setting;

constexpr std::array<std::int64_t, 4> kCounts = {3, 1000, 70'001, 262'144};

Deadline soon() {
  return Deadline::after_seconds(30.0);
}

int sum_of_ranks(int size) {
  return size * (size - 1) / 2;
}

/// An all_reduce in flight: every rank contributes rank + seed, so that the sum is known.
class Call {
 public:
  Call(Communicator& group, int lane, std::int64_t count, int seed)
      : in_(static_cast<std::size_t>(count), static_cast<float>(group.rank() + seed)),
        out_(in_.size(), -1.0F),
        expected_(static_cast<float>(sum_of_ranks(group.size()) + group.size() * seed)),
        pending_(group.all_reduce(vector_view(in_.data(), count), vector_view(out_.data(), count),
                                  ReduceOp::sum,
                                  {.label = "groups", .lane = lane, .timeout_s = 20.0})) {}

  void finish() {
    pending_.wait();
    if (std::ranges::all_of(out_, [&](float value) { return value == expected_; })) return;
    throw Error(ErrorCode::internal,
                fmt::format("a sum of {} elements is not {} everywhere", out_.size(), expected_));
  }

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  float expected_;
  Pending pending_;
};

/// Four in flight, two on each lane, waited for in an order of this rank's own.
int call_on_two_lanes(Communicator& group, std::mt19937& own, int seed) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int number = 0; number < 4; ++number) {
    const auto count = kCounts[static_cast<std::size_t>(number)];
    calls.push_back(std::make_unique<Call>(group, number % 2, count, seed + number));
  }
  std::ranges::shuffle(calls, own);
  for (const auto& call : calls) call->finish();
  return 4;
}

int call_from_two_threads(Communicator& group, int seed) {
  constexpr int kCalls = 5;
  std::array<std::exception_ptr, 2> errors;
  {
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < 2; ++lane) {
      threads.emplace_back([&group, &errors, lane, seed] {
        try {
          for (int number = 0; number < kCalls; ++number) {
            Call(group, lane, kCounts[static_cast<std::size_t>(number) % 3], seed + lane).finish();
          }
        } catch (...) {
          errors[static_cast<std::size_t>(lane)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return 2 * kCalls;
}

/// A group and two that are split off it, used in turn and freed in an order of this rank's own.
int one_round(runtime::World& world, kernels::Device& device, std::mt19937& own, int round) {
  const std::string backend = setting("MUSTER_GROUPS_BACKEND", "auto");
  const GroupSpec all = runtime::world_group(world, fmt::format("round{}", round), 0);
  std::vector<std::unique_ptr<Communicator>> groups;
  const auto create = [&](const GroupSpec& spec) {
    groups.push_back(collectives::create_communicator(backend, spec, *world.store, device, soon()));
  };
  create(all);
  // Everybody is in the second; the last rank alone in a group of the third.
  create(*collectives::split_group(all, *world.store, 0, -all.rank, soon()));
  create(*collectives::split_group(all, *world.store, all.rank == all.size - 1 ? 1 : 0, 0, soon()));
  int calls = 0;
  for (const auto& group : groups) {
    calls += call_on_two_lanes(*group, own, round);
    calls += call_from_two_threads(*group, round);
  }
  std::ranges::shuffle(groups, own);
  while (!groups.empty()) groups.pop_back();
  return calls;
}

int run_rounds(runtime::World& world) {
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  std::mt19937 own(static_cast<unsigned>(world.rank) + 1);
  int calls = 0;
  for (int round = 0; round < std::stoi(setting("MUSTER_GROUPS_ROUNDS", "20")); ++round) {
    calls += one_round(world, *device, own, round);
  }
  fmt::print("{} calls right\n", calls);
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace muster

int main() {
  return muster::test::run_rank(muster::run_rounds);
}
