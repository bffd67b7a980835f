#include "launcher/stall_watch.hpp"

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/trace/recorder.hpp"

namespace muster::launcher {
namespace {

namespace trace = collectives::trace;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kWarningS = 30.0;

trace::RecordedCall barrier(std::uint32_t sequence) {
  collectives::Call call;
  call.sequence = sequence;
  return {.signature = collectives::Signature(call), .group = trace::Text<3>("world")};
}

/// A process that does nothing, with a record that the test writes for it.
class FakeRank {
 public:
  FakeRank() : pid_(::fork()) {
    if (pid_ == 0) {
      while (true) ::pause();
    }
  }
  FakeRank(const FakeRank&) = delete;
  FakeRank& operator=(const FakeRank&) = delete;
  ~FakeRank() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  trace::Recorder& recorder() { return recorder_; }
  const trace::RecordReader& record() const { return reader_; }

  void wait_for(const FakeRank& peer, int rank, const trace::RecordedCall& call, double waited_s) {
    note_.show(recorder_, call, {.rank = rank, .pid = peer.pid(), .host_id = "id"}, waited_s);
  }

 private:
  pid_t pid_;
  collectives::Fd memory_ = trace::create_record_memory();
  trace::Recorder recorder_{memory_};
  trace::RecordReader reader_{memory_};
  trace::WaitNote note_;
};

class Stalled : public testing::Test {
 protected:
  /// What is said once there is something to say.
  std::vector<std::string> look_twice() {
    const std::vector<std::string> first = look();
    return first.empty() ? look() : first;
  }
  std::vector<std::string> look() {
    std::vector<RecordedRank> ranks;
    ranks.reserve(3);
    for (int rank = 0; rank < 3; ++rank) {
      ranks.push_back({rank, ranks_[rank].pid(), &ranks_[rank].record()});
    }
    return watch_.look(ranks);
  }

  FakeRank ranks_[3];
  StallWatch watch_{kWarningS, {"here", "id"}};
};

TEST_F(Stalled, IsNobodyWhoHasNotWaitedForLong) {
  ranks_[0].wait_for(ranks_[1], 1, barrier(4), kWarningS - 5.0);

  EXPECT_THAT(look_twice(), IsEmpty());
}

TEST_F(Stalled, IsTheRankThatWaitsForNobody) {
  ranks_[0].wait_for(ranks_[1], 1, barrier(4), kWarningS + 1.0);
  ranks_[1].wait_for(ranks_[2], 2, barrier(4), kWarningS + 5.0);
  ranks_[2].recorder().set_phase(trace::Text<4>("data"));

  const std::vector<std::string> lines = look_twice();

  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0],
              AllOf(HasSubstr("stall: rank 2 (pid " + std::to_string(ranks_[2].pid()) +
                              ", host here) has not entered barrier"),
                    HasSubstr("(group world, lane 0, seq 4): ranks 0, 1 wait 35 s for it"),
                    HasSubstr("its last operation: none; it is in: data, since ")));
  EXPECT_EQ(lines[1], "  it runs a program that keeps no stack");
}

TEST_F(Stalled, IsToldOnce) {
  ranks_[0].wait_for(ranks_[2], 2, barrier(4), kWarningS + 1.0);

  EXPECT_THAT(look_twice(), SizeIs(2));
  EXPECT_THAT(look_twice(), IsEmpty());
}

TEST_F(Stalled, MayHaveEnteredTheCall) {
  ranks_[0].wait_for(ranks_[2], 2, barrier(4), kWarningS + 1.0);
  ranks_[2].recorder().begin(barrier(4));

  EXPECT_THAT(look_twice().at(0), HasSubstr("does not go on in barrier"));
}

TEST_F(Stalled, MayBeEachOther) {
  ranks_[0].wait_for(ranks_[1], 1, barrier(4), kWarningS + 1.0);
  ranks_[1].wait_for(ranks_[0], 0, barrier(5), kWarningS + 2.0);

  EXPECT_THAT(look_twice(), ElementsAre(HasSubstr("stall: ranks wait for each other"),
                                        ContainsRegex("rank 1 .* waits 32 s for rank 0 .*seq 5"),
                                        ContainsRegex("rank 0 .* waits 31 s for rank 1 .*seq 4")));
}

TEST_F(Stalled, MayBeOnAnotherHost) {
  trace::WaitNote note;
  note.show(ranks_[0].recorder(), barrier(4), {.rank = 7, .pid = 1, .host_id = "other"},
            kWarningS + 1.0);

  EXPECT_THAT(look_twice(),
              ElementsAre(HasSubstr("stall: rank 7 of group world, on another host")));
}

}  // namespace
}  // namespace muster::launcher
