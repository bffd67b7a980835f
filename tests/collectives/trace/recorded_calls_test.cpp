#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/trace/reader.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/error.hpp"
#include "tests/collectives/rank_threads.hpp"

namespace muster::collectives {
namespace {

using testing::Contains;
using testing::Field;

/// The record of this process, whose threads are the ranks of the groups below.
const Fd& record() {
  static const Fd memory = [] {
    Fd made = trace::create_record_memory();
    trace::Recorder::open(made);
    return made;
  }();
  return memory;
}

std::vector<trace::EntryView> calls_with(const std::string& label) {
  std::vector<trace::EntryView> found;
  for (trace::EntryView& call : trace::RecordReader(record()).last_calls(trace::kEntries)) {
    if (call.call.label == label) found.push_back(std::move(call));
  }
  return found;
}

BackendUnderTest backend(const std::string& name) {
  for (const BackendUnderTest& each : all_backends()) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no back end " << name;
  return {};
}

TEST(RecordedCalls, AreThoseOfEveryRank) {
  record();
  const BackendUnderTest shm = backend("shm");
  RankThreads{.backend = shm, .ranks = 2}.run([](Communicator& group) {
    std::vector<float> data(5000, 1.0F);
    const TensorView view = vector_view(data.data(), 5000);
    group.all_reduce(view, view, ReduceOp::max, {.label = "every rank"}).wait();
  });

  const std::vector<trace::EntryView> calls = calls_with("every rank");

  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].outcome, trace::Outcome::done);
  EXPECT_EQ(to_string(calls[0].call.signature), "all_reduce f32[5000]");
  EXPECT_EQ(calls[0].call.signature.op(), ReduceOp::max);
}

TEST(RecordedCalls, OfALanesOwnThreadEndWhenTheyAreDone) {
  record();
  const BackendUnderTest shm = backend("shm");
  RankThreads{.backend = shm, .ranks = 2, .cores_per_rank = 2}.run([](Communicator& group) {
    float value = 1.0F;
    const TensorView view = vector_view(&value, 1);
    Pending pending = group.all_reduce(view, view, ReduceOp::sum, {.label = "beside", .lane = 1});
    while (!pending.is_done()) std::this_thread::yield();
    for (const trace::EntryView& call : calls_with("beside")) {
      if (call.outcome == trace::Outcome::done) return pending.wait();
    }
    ADD_FAILURE() << "none has ended";
  });
}

TEST(RecordedCalls, SayThatTheyFailed) {
  record();
  const BackendUnderTest shm = backend("shm");
  RankThreads{.backend = shm, .ranks = 2}.run([](Communicator& group) {
    if (group.rank() == 1) return group.abort("test");
    EXPECT_THROW(group.barrier({.label = "aborted"}), Error);
  });

  EXPECT_THAT(calls_with("aborted"),
              Contains(Field(&trace::EntryView::outcome, trace::Outcome::failed)));
}

class RecordedWaits : public testing::TestWithParam<const char*> {};

TEST_P(RecordedWaits, NameThePeerAndAreSummed) {
  const trace::RecordReader reader(record());
  trace::Recorder::current()->restart_waits();
  const BackendUnderTest waiting = backend(GetParam());
  RankThreads{.backend = waiting, .ranks = 2}.run([&](Communicator& group) {
    if (group.rank() == 0) return group.barrier({.label = "late peer"});
    std::vector<trace::WaitView> waits;
    const Deadline deadline = Deadline::after_seconds(20.0);
    while (!deadline.has_passed() && (waits.empty() || waits[0].call.label != "late peer")) {
      waits = reader.now().waits;
    }
    ASSERT_FALSE(waits.empty());
    EXPECT_EQ(waits[0].peer_rank, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    group.barrier({.label = "late peer"});
  });

  EXPECT_TRUE(reader.now().waits.empty());
  double waited_s = 0.0;
  for (const trace::WaitedView& waited : reader.now().waited) waited_s += waited.seconds;
  EXPECT_GE(waited_s, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Backends, RecordedWaits, testing::Values("shm", "tcp"),
                         [](const auto& test) { return std::string(test.param); });

// Ranks 0 and 1 are on one host, rank 2 alone on the other: the first rank of the one waits for it,
// and the second for the first.
TEST(RecordedWaitsAcrossHosts, LeadToTheLateRank) {
  const trace::RecordReader reader(record());
  const BackendUnderTest hierarchical = backend("hierarchical");
  RankThreads{.backend = hierarchical, .ranks = 3}.run([&](Communicator& group) {
    if (group.rank() < 2) return group.barrier({.label = "late host"});
    const auto is_waited_for = [&reader](const std::string& in, int rank) {
      const std::vector<trace::WaitView> waits = reader.now().waits;
      return std::any_of(waits.begin(), waits.end(), [&](const trace::WaitView& wait) {
        return wait.call.label == "late host" && wait.call.group == in && wait.peer_rank == rank;
      });
    };
    const Deadline deadline = Deadline::after_seconds(20.0);
    while (!deadline.has_passed() &&
           !(is_waited_for("test.column0", 1) && is_waited_for("test.host0", 0))) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(is_waited_for("test.column0", 1));
    EXPECT_TRUE(is_waited_for("test.host0", 0));
    group.barrier({.label = "late host"});
  });

  EXPECT_TRUE(reader.now().waits.empty());
}

}  // namespace
}  // namespace muster::collectives
