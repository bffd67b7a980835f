#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/trace/describe.hpp"
#include "collectives/trace/reader.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

RecordedCall all_reduce(std::uint64_t sequence, std::string_view label = "gradients") {
  Call call;
  call.kind = CallKind::all_reduce;
  call.in.dtype = Dtype::f32;
  call.count = 64;
  call.sequence = sequence;
  return {.signature = Signature(call), .group = Text<3>("world"), .label = label, .lane = 1};
}

class Record : public testing::Test {
 protected:
  Fd memory_ = create_record_memory();
  Recorder recorder_{memory_};
  RecordReader reader_{memory_};
};

TEST(Versioned, IsNeverReadTorn) {
  Versioned<std::array<std::uint64_t, 14>> versioned{};
  std::atomic<bool> is_over{false};
  std::jthread writer([&] {
    std::array<std::uint64_t, 14> words{};
    for (std::uint64_t i = 1; !is_over; ++i) {
      words.fill(i);
      versioned.store(i, words);
      for (int pause = 0; pause < 20; ++pause)
        __builtin_ia32_pause();  // so that some reads succeed
    }
  });
  int whole = 0;
  int torn = 0;
  for (int round = 0; round < 500'000; ++round) {
    std::array<std::uint64_t, 14> words{};
    const std::uint64_t stamp = versioned.load(words);
    if (stamp == 0) continue;
    ++whole;
    torn += std::count(words.begin(), words.end(), stamp) == std::ssize(words) ? 0 : 1;
  }
  is_over = true;
  EXPECT_EQ(torn, 0);
  EXPECT_GT(whole, 0);
}

TEST(EmptyRecord, IsNotOpen) {
  const Fd memory = create_record_memory();

  EXPECT_FALSE(RecordReader(memory).is_open());
  EXPECT_THAT(RecordReader(memory).last_calls(10), IsEmpty());
}

TEST_F(Record, KeepsACall) {
  const std::uint64_t ticket = recorder_.begin(all_reduce(12));
  recorder_.end(ticket, Outcome::failed);

  const std::vector<EntryView> calls = reader_.last_calls(10);

  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(describe(calls[0].call),
            "all_reduce f32[64] sum \"gradients\" (group world, lane 1, seq 12)");
  EXPECT_EQ(calls[0].outcome, Outcome::failed);
  EXPECT_GE(calls[0].end_ns, calls[0].begin_ns);
  EXPECT_LE(calls[0].end_ns, Clock::monotonic_ns());
  EXPECT_GT(calls[0].end_ns, Clock::monotonic_ns() - 10'000'000'000);
}

TEST_F(Record, KeepsThePartnersOfAMessage) {
  RecordedCall call = all_reduce(0, "");
  Call message;
  message.kind = CallKind::send_receive;
  message.in.dtype = Dtype::i8;
  call.signature = Signature(message);
  call.to = 3;
  recorder_.begin(call);

  EXPECT_EQ(describe(reader_.last_calls(1).at(0).call),
            "send_receive i8[0] (group world, lane 1, to 3)");
}

TEST_F(Record, SaysThatACallStillRuns) {
  recorder_.begin(all_reduce(1));

  EXPECT_EQ(reader_.last_call()->outcome, Outcome::running);
}

TEST_F(Record, EndsACallOnce) {
  const std::uint64_t ticket = recorder_.begin(all_reduce(1));
  recorder_.end(ticket, Outcome::failed);
  recorder_.end(ticket, Outcome::done);

  EXPECT_EQ(reader_.last_call()->outcome, Outcome::failed);
}

TEST_F(Record, ForgetsTheOldestCallsWhenItIsFull) {
  for (std::uint64_t i = 0; i < kEntries + 5; ++i) {
    recorder_.end(recorder_.begin(all_reduce(i)), Outcome::done);
  }

  const std::vector<EntryView> calls = reader_.last_calls(2 * kEntries);

  ASSERT_THAT(calls, SizeIs(kEntries));
  EXPECT_EQ(calls.front().call.signature.sequence(), 5U);
  EXPECT_EQ(calls.back().call.signature.sequence(), kEntries + 4);
  EXPECT_EQ(calls.back().outcome, Outcome::done);
}

TEST_F(Record, DropsTheEndOfACallWhoseEntryIsAnothers) {
  const std::uint64_t early = recorder_.begin(all_reduce(0));
  for (std::uint64_t i = 1; i <= kEntries; ++i) recorder_.begin(all_reduce(i));
  recorder_.end(early, Outcome::failed);

  EXPECT_EQ(reader_.last_call()->outcome, Outcome::running);
}

TEST_F(Record, ClipsLongTexts) {
  const std::string label(100, 'x');
  recorder_.begin(all_reduce(0, label));

  EXPECT_EQ(reader_.last_call()->call.label, std::string(48, 'x'));
}

class RecordedLabel : public Record, public testing::WithParamInterface<std::size_t> {};

TEST_P(RecordedLabel, IsKeptWhateverItsLength) {
  const std::string label = std::string("abcdefghijklmnopqrstuvwxyz").substr(0, GetParam());
  recorder_.begin(all_reduce(0, label));

  EXPECT_EQ(reader_.last_call()->call.label, label);
}

INSTANTIATE_TEST_SUITE_P(Lengths, RecordedLabel,
                         testing::Values<std::size_t>(0, 1, 7, 8, 9, 15, 16, 17, 26));

TEST_F(Record, LeavesOutAnEntryThatIsBeingWritten) {
  recorder_.begin(all_reduce(0));
  recorder_.begin(all_reduce(1));
  const MappedRecord raw(memory_, MappedRecord::Access::write);
  auto* const version = reinterpret_cast<std::uint64_t*>(&raw.layout().entries[1]);
  *version -= 1;  // as in the middle of a writing

  const std::vector<EntryView> calls = reader_.last_calls(10);

  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].call.signature.sequence(), 0U);
}

TEST_F(Record, IsNeverTornWhileOthersWriteIt) {
  std::atomic<bool> is_over{false};
  std::jthread writer([&] {
    const std::string labels[] = {std::string(48, 'a'), std::string(48, 'b')};
    for (std::uint64_t i = 0; !is_over; ++i) {
      recorder_.end(recorder_.begin(all_reduce(i, labels[i % 2])), Outcome::done);
    }
  });
  for (int round = 0; round < 200; ++round) {
    for (const EntryView& entry : reader_.last_calls(kEntries)) {
      const char expected = entry.call.signature.sequence() % 2 == 0 ? 'a' : 'b';
      EXPECT_EQ(entry.call.label, std::string(48, expected));
    }
  }
  is_over = true;
}

TEST_F(Record, SaysWhatTheRankDoes) {
  recorder_.set_owner({.rank = 3, .size = 8});
  recorder_.set_phase(Text<4>("data"));
  recorder_.set_step(17);

  const NowView now = reader_.now();

  EXPECT_TRUE(reader_.is_open());
  EXPECT_EQ(now.pid, ::getpid());
  EXPECT_EQ(now.rank, 3);
  EXPECT_EQ(now.size, 8);
  EXPECT_EQ(now.phase, "data");
  EXPECT_EQ(now.step, 17);
  EXPECT_LE(now.phase_since_ns, Clock::monotonic_ns());
  EXPECT_THAT(now.waits, IsEmpty());
}

TEST_F(Record, NamesAPhaseWithItsStep) {
  recorder_.set_phase(Text<4>("setup"));
  EXPECT_EQ(describe_phase(reader_.now()), "setup");
  recorder_.set_step(17);
  recorder_.set_phase(Text<4>("data"));
  EXPECT_EQ(describe_phase(reader_.now()), "data of step 17");
  recorder_.set_phase(Text<4>("step"));
  EXPECT_EQ(describe_phase(reader_.now()), "step 17");
}

TEST_F(Record, SumsTheWaitsForEachPeer) {
  const PeerName first{.rank = 1, .pid = 4711, .host_id = "a"};
  const PeerName second{.rank = 2, .pid = 4711, .host_id = "b"};
  *recorder_.waited_for(first) += 1'500'000'000;
  *recorder_.waited_for(second) += 250'000'000;
  *recorder_.waited_for(first) += 500'000'000;

  const NowView now = reader_.now();

  ASSERT_THAT(now.waited, SizeIs(2));
  EXPECT_EQ(now.waited[0].peer, first.key());
  EXPECT_EQ(now.waited[0].seconds, 2.0);
  EXPECT_EQ(now.waited[1].seconds, 0.25);
}

TEST_F(Record, CountsNoMorePeersThanItHasRoomFor) {
  for (int rank = 0; rank < static_cast<int>(kMostPeers); ++rank) {
    ASSERT_NE(recorder_.waited_for({.rank = rank, .host_id = "a"}), nullptr);
  }

  EXPECT_EQ(recorder_.waited_for({.rank = static_cast<int>(kMostPeers)}), nullptr);
}

TEST_F(Record, CountsWaitsAnew) {
  *recorder_.waited_for({.rank = 1}) += 5;
  recorder_.restart_waits();

  EXPECT_EQ(reader_.now().waited.at(0).seconds, 0.0);
}

TEST_F(Record, KeepsAStack) {
  int here = 0;
  void* const frames[] = {&here, &memory_};
  recorder_.keep_stack(frames);

  const StackView stack = reader_.stack();

  EXPECT_EQ(stack.stamp, 1U);
  EXPECT_THAT(stack.frames, ElementsAre(reinterpret_cast<std::uint64_t>(&here),
                                        reinterpret_cast<std::uint64_t>(&memory_)));
}

TEST_F(Record, OutlivesAKilledProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    Recorder own(memory_);
    own.begin(all_reduce(7));
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);

  EXPECT_EQ(reader_.now().pid, child);
  EXPECT_EQ(reader_.last_call()->call.signature.sequence(), 7U);
}

TEST(RecordMemory, CannotChangeItsSize) {
  const Fd memory = create_record_memory();

  EXPECT_NE(::ftruncate(memory.number(), 0), 0);
}

TEST(RecordMemory, OfAnotherSizeIsRefused) {
  const Fd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));

  EXPECT_THROW(RecordReader{memory}, Error);
}

TEST(RecordMemory, OfAnotherLayoutIsRefused) {
  const Fd memory = create_record_memory();
  const Recorder recorder(memory);
  const MappedRecord raw(memory, MappedRecord::Access::write);
  raw.layout().now.version = kLayoutVersion + 1;

  EXPECT_THROW(static_cast<void>(RecordReader(memory).is_open()), Error);
}

// Whatever lies in the memory, reading it ends, stays within it (so say the sanitizers), and shows
// no control characters.
TEST(RecordMemory, OfRandomBytesIsRead) {
  const Fd memory = create_record_memory();
  const MappedRecord raw(memory, MappedRecord::Access::write);
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    auto* const words = reinterpret_cast<std::uint64_t*>(&raw.layout());
    for (std::size_t i = 0; i < sizeof(Layout) / 8; ++i) words[i] = random();
    // Plausible where it matters, so that the rest is looked at.
    for (std::size_t i = 0; i < kEntries; i += 2) {
      raw.layout().entries[i].finish = finish_word(i, Outcome::done, random());
      words[(offsetof(Layout, entries) + i * sizeof(Entry)) / 8] = 2 * (i + 1);
    }
    if (round % 2 == 0) raw.layout().now.next = kEntries;
    const RecordReader reader(memory);
    EXPECT_FALSE(reader.is_open());
    const NowView now = reader.now();
    EXPECT_LE(now.waits.size(), kWaitSlots);
    EXPECT_LE(reader.stack().frames.size(), kMostFrames);
    const std::vector<EntryView> calls = reader.last_calls(kEntries);
    EXPECT_EQ(calls.empty(), round % 2 != 0);
    for (const EntryView& entry : calls) {
      for (const char c : describe(entry, 0)) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
    }
  }
}

TEST(Duration, IsAsLongAsNeeded) {
  EXPECT_EQ(duration_text(-5), "0 ms");
  EXPECT_EQ(duration_text(12'300'000), "12 ms");
  EXPECT_EQ(duration_text(3'140'000'000), "3.1 s");
  EXPECT_EQ(duration_text(31'400'000'000), "31 s");
}

}  // namespace
}  // namespace muster::collectives::trace
