#include "collectives/shm/lane.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "kernels/devices.hpp"

/// The protocol of a lane, one rank played by hand.
namespace muster::collectives::shm {
namespace {

constexpr std::size_t kSegment = heap_begin(2) + kMiB;
constexpr int kRanks = 2;
constexpr std::int64_t kCount = 400000;  // f32: more than two chunks of 512 KiB

class LanePair : public testing::Test {
 public:
  ~LanePair() override { ::munmap(memory_, kRanks * kSegment); }

 protected:
  LanePair() {
    void* const at = ::mmap(nullptr, kRanks * kSegment, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = static_cast<std::byte*>(at);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      Group& group = groups_[index];
      group.name = "pair";
      group.rank = rank;
      group.size = kRanks;
      group.peers.assign(kRanks, {::getpid(), "here"});
      group.segments = Segments::over(memory_, kSegment);
      group.watch = PeerWatch({::getpid(), ::getpid()});
      group.policy = WaitPolicy::of(0);
      group.tuning.chunk_bytes = 512 * kKiB;
      devices_[index] = kernels::open_device("cpu", kernels::DeviceOptions());
      lanes_[index] = std::make_unique<Lane>(group, 0, *devices_[index]);
    }
  }
  Lane& lane(int rank) { return *lanes_[static_cast<std::size_t>(rank)]; }
  static void open(Lane& lane, const Call& call) { lane.open(Signature(call), {}); }
  std::uint64_t staged_by_rank_0() {
    return groups_[0].control(0).lanes[0].staged.value.load(std::memory_order_acquire);
  }

  std::byte* memory_ = nullptr;
  std::array<Group, kRanks> groups_;
  std::array<std::unique_ptr<kernels::Device>, kRanks> devices_;
  std::array<std::unique_ptr<Lane>, kRanks> lanes_;
};

Call call_of(CallKind kind, std::vector<float>& data) {
  Call call;
  call.kind = kind;
  call.in = call.out = vector_view(data.data(), static_cast<std::int64_t>(data.size()));
  call.count = call.in.count();
  return call;
}

// Rank 0 broadcasts and goes on to an all_reduce, whose first chunk it stages before it meets
// anybody. Rank 1 has come to the broadcast but is slow to read.
TEST_F(LanePair, NothingIsStagedOverWhatAPeerStillReads) {
  std::vector<float> data(262144, 1.0F);  // two chunks
  std::vector<float> more(kCount, 2.0F);
  const Call first = call_of(CallKind::broadcast, data);
  const Call second = call_of(CallKind::all_reduce, more);
  std::jthread rank0([&] {
    open(lane(0), first);
    broadcast(lane(0), first);
    open(lane(0), second);
    all_reduce(lane(0), second);
  });

  Lane& slow = lane(1);
  open(slow, first);
  meet_with_places(slow, first);
  slow.wait(Counter::staged, 2, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));

  EXPECT_EQ(staged_by_rank_0(), 2U);
  EXPECT_EQ(*reinterpret_cast<float*>(slow.chunk_slot(0, 0)), 1.0F);
  slow.take_chunks(2);
  slow.post(Counter::reduced, 2);
  std::vector<float> mine(kCount, 3.0F);
  const Call mine_second = call_of(CallKind::all_reduce, mine);
  open(slow, mine_second);
  all_reduce(slow, mine_second);
  EXPECT_EQ(mine, std::vector<float>(kCount, 5.0F));
}

TEST_F(LanePair, ARankMayBeOneRoundAheadAndItsLastLineStays) {
  const Call barrier_call;
  open(lane(0), barrier_call);
  lane(0).set_payload(std::uint64_t{41});
  lane(0).arrive();
  open(lane(1), barrier_call);
  lane(1).arrive();
  lane(0).meet();

  open(lane(0), barrier_call);
  lane(0).set_payload(std::uint64_t{42});
  lane(0).arrive();

  lane(1).meet();
  EXPECT_EQ(lane(1).payload_as<std::uint64_t>(0), 41U);
}

TEST(SliceOf, DealsOutWholeLinesAndLosesNothing) {
  for (const std::int64_t total :
       {std::int64_t{1}, std::int64_t{15}, std::int64_t{16}, std::int64_t{33}, std::int64_t{4097},
        (std::int64_t{1} << 33) + 5}) {
    for (const int size : {1, 2, 3, 7, 64}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Piece slice = slice_of(total, Dtype::f32, rank, size);
        EXPECT_EQ(slice.begin, next);
        EXPECT_TRUE(slice.begin % 16 == 0 || slice.count == 0);
        next += slice.count;
      }
      EXPECT_EQ(next, total) << size;
    }
  }
}

}  // namespace
}  // namespace muster::collectives::shm
