// A rank that does what made trouble in the field, and checks what comes of it. MUSTER_FIELD_CASE:
//
//   zeros      calls of no elements, and lists where one rank has none, between others
//   hash       sums of random f32: `N calls right, hash H`, H of the bits of all sums
//   average    a group of this rank alone: averages of every length from 1 to 4096
//   busy       rank 0 comes 5 s late and gives signs of life meanwhile
//   silent     rank 0 comes 5 s late and gives none
//
// Prints `N calls right…` and exits with 0, or prints `failed after T s: TEXT` and exits with 3.
//
// Environment: MUSTER_FIELD_BACKEND (default auto), MUSTER_FIELD_TIMEOUT (seconds, default 2)

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/seconds.hpp"
#include "kernels/devices.hpp"
#include "tests/support/float_view.hpp"
#include "tests/system/rank_program.hpp"

namespace muster {
namespace {

using collectives::CallOptions;
using collectives::Communicator;
using collectives::ReduceOp;
using test::setting;
using test::view_of;

constexpr double kLateS = 5.0;

void require(bool is_right, std::string_view what) {
  if (!is_right) throw Error(ErrorCode::internal, fmt::format("{}: wrong", what));
}

CallOptions options() {
  return {.label = "field", .timeout_s = std::stod(setting("MUSTER_FIELD_TIMEOUT", "2"))};
}

void sum_of_ones(Communicator& group) {
  std::vector<float> data(64, 1.0F);
  group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, options()).wait();
  const auto size = static_cast<float>(group.size());
  require(std::ranges::all_of(data, [&](float value) { return value == size; }), "all_reduce");
}

void calls_of_nothing(Communicator& group) {
  std::vector<float> none;
  const TensorView data = view_of(none);
  group.all_reduce(data, data, ReduceOp::avg, options()).wait();
  group.all_gather(data, data, options()).wait();
  group.reduce_scatter(data, data, ReduceOp::max, options()).wait();
  group.broadcast(data, group.size() - 1, options()).wait();
  group.reduce(data, data, ReduceOp::prod, 0, options()).wait();
  group.gather(data, data, 0, options()).wait();
  group.scatter(data, data, 0, options()).wait();
  group.all_to_all(data, data, options()).wait();
}

/// Rank r has r elements, rank 0 none: of every list, and of every pair's exchange.
void lists_with_none(Communicator& group) {
  const int size = group.size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size));
  std::iota(counts.begin(), counts.end(), 0);
  const auto all = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0L));
  const auto own = static_cast<std::size_t>(group.rank());
  const auto rank = static_cast<float>(group.rank());

  std::vector<float> mine(own, rank);
  std::vector<float> gathered(all, -1.0F);
  group.all_gather_v(view_of(mine), view_of(gathered), counts, options()).wait();
  std::vector<float> expected;
  for (int r = 0; r < size; ++r) {
    expected.insert(expected.end(), static_cast<std::size_t>(r), static_cast<float>(r));
  }
  require(gathered == expected, "all_gather_v");

  std::vector<float> share(own, -1.0F);
  group.reduce_scatter_v(view_of(gathered), view_of(share), counts, ReduceOp::sum, options())
      .wait();
  require(share == std::vector<float>(own, rank * static_cast<float>(size)), "reduce_scatter_v");

  const std::vector<std::int64_t> in_counts(counts.size(), group.rank());
  std::vector<float> out(own * counts.size(), rank);
  std::vector<float> in(all, -1.0F);
  group.all_to_all_v(view_of(out), view_of(in), in_counts, counts, options()).wait();
  require(in == expected, "all_to_all_v");
}

int zeros(Communicator& group) {
  for (int round = 0; round < 10; ++round) {
    calls_of_nothing(group);
    lists_with_none(group);
    sum_of_ones(group);
  }
  return 120;
}

/// Sums of numbers that no order adds up alike.
std::string hash(Communicator& group) {
  std::mt19937 random(static_cast<unsigned>(group.rank()) + 1);
  std::normal_distribution<float> normal;
  std::uint64_t hash = 0;
  int calls = 0;
  for (const std::size_t count : {1U, 3U, 1000U, 70'001U, 262'144U, 1'000'003U}) {
    std::vector<float> data(count);
    for (float& value : data) value = normal(random);
    group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, options()).wait();
    for (const float value : data) hash = mix(hash, std::bit_cast<std::uint32_t>(value));
    ++calls;
  }
  return fmt::format("{} calls right, hash {:016x}", calls, hash);
}

int average(Communicator& group) {
  constexpr int kLongest = 4096;
  require(group.size() == 1, "a group of one");
  for (int length = 1; length <= kLongest; ++length) {
    std::vector<float> in(static_cast<std::size_t>(length));
    std::iota(in.begin(), in.end(), 1.0F);
    std::vector<float> out(in.size(), std::numeric_limits<float>::quiet_NaN());
    group.all_reduce(view_of(in), view_of(out), ReduceOp::avg, options()).wait();
    require(in == out, fmt::format("average of {} elements", length));
  }
  return kLongest;
}

int late(Communicator& group, bool gives_signs) {
  sum_of_ones(group);
  const auto begin = std::chrono::steady_clock::now();
  while (group.rank() == 0 && seconds_since(begin) < kLateS) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (gives_signs) group.heartbeat();
  }
  sum_of_ones(group);
  return 2;
}

std::string run_case(Communicator& group) {
  const auto right = [](int calls) { return fmt::format("{} calls right", calls); };
  const std::string which = setting("MUSTER_FIELD_CASE", "");
  if (which == "zeros") return right(zeros(group));
  if (which == "hash") return hash(group);
  if (which == "average") return right(average(group));
  if (which == "busy") return right(late(group, true));
  if (which == "silent") return right(late(group, false));
  throw Error(ErrorCode::config, fmt::format("MUSTER_FIELD_CASE: no case \"{}\"", which));
}

int run_in_world(runtime::World& world) {
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  const auto group = test::open_group(world, "field", "MUSTER_FIELD_BACKEND", *device);
  const auto begin = std::chrono::steady_clock::now();
  try {
    fmt::print("{}\n", run_case(*group));
  } catch (const Error& error) {
    group->abort(error.what());
    fmt::print("failed after {:.2f} s: {}\n", seconds_since(begin), error.what());
    std::fflush(stdout);
    return 3;
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace muster

int main() {
  return muster::test::run_rank(muster::run_in_world);
}
