#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "kernels/devices.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/float_view.hpp"
#include "tests/system/mpi/mpi_ranks.hpp"

/// How groups over MPI fail where ranks share no memory of the test's.
namespace muster::collectives {
namespace {

using test::view_of;
using testing::AllOf;
using testing::HasSubstr;

class MpiErrors : public testing::Test {
 protected:
  static void as_each_rank(const std::function<void(Communicator&)>& body) {
    const std::vector<BackendUnderTest> backends = all_backends();
    RankThreads{.backend = backends.front(), .ranks = test_world().size}.run(body);
  }
};

TEST_F(MpiErrors, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  as_each_rank([](Communicator& group) {
    if (group.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return;
    }
    std::vector<float> data(64);
    const CallOptions options{.label = "gradients of block 3", .timeout_s = 0.5};

    const std::string text = error_text(ErrorCode::timeout, [&] {
      group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, options).wait();
    });

    EXPECT_THAT(text, AllOf(HasSubstr("all_reduce f32[64] \"gradients of block 3\""),
                            HasSubstr("limit 0.5 s"), HasSubstr("not there yet: rank 1;")));
  });
}

TEST_F(MpiErrors, ARankThatWaitsInAMessageIsNamedWithIt) {
  as_each_rank([](Communicator& group) {
    std::vector<float> data(64);
    if (group.rank() == 1) {
      const CallOptions options{.timeout_s = 3.0};
      const auto receive = [&] { group.receive(view_of(data), 0, options).wait(); };
      const std::string text = error_text(ErrorCode::peer_lost, receive);
      EXPECT_THAT(text, AllOf(HasSubstr("rank 0"), HasSubstr("send_receive f32[64]")));
      return;
    }
    const CallOptions options{.timeout_s = 0.5};

    const std::string text = error_text(ErrorCode::timeout, [&] { group.barrier(options); });

    EXPECT_THAT(text, HasSubstr("rank 1 is in send_receive f32[64]"));
    if (group.rank() == 0) group.abort("rank 1 is lost");
  });
}

// The clock of the two is one: they are on one host.
TEST_F(MpiErrors, AbortWakesAllWhoWaitWithin100Ms) {
  using Clock = std::chrono::steady_clock;
  as_each_rank([](Communicator& group) {
    if (group.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const std::string now = std::to_string(Clock::now().time_since_epoch().count());
      group.abort(now);
      return;
    }
    std::vector<float> data(64);

    const std::string text = error_text(ErrorCode::peer_lost, [&] {
      group.all_reduce(view_of(data), view_of(data), ReduceOp::sum).wait();
    });

    const Clock::duration now = Clock::now().time_since_epoch();
    const std::string marker = "rank 1 aborted the group: ";
    ASSERT_THAT(text, AllOf(HasSubstr(marker), HasSubstr("all_reduce f32[64]")));
    const Clock::rep aborted_at = std::stoll(text.substr(text.find(marker) + marker.size()));
    EXPECT_LT(now - Clock::duration(aborted_at), std::chrono::milliseconds(100));
  });
}

TEST_F(MpiErrors, AGroupOfOneRankNeedsNoMpi) {
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  const GroupSpec group{.name = "alone", .hosts = {"here"}};

  const auto made =
      create_communicator("mpi", group, *test_world().store, *device, Deadline::after_seconds(1.0));

  EXPECT_EQ(made->backend(), "self");
}

}  // namespace
}  // namespace muster::collectives
