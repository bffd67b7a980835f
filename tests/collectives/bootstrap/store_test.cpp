#include "collectives/bootstrap/store.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/bootstrap/memory_store.hpp"
#include "collectives/bootstrap/tcp_store.hpp"
#include "collectives/bootstrap/tcp_store_server.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

/// The contract of Store, for each kind of store.
class AnyStore : public testing::TestWithParam<std::string> {
 protected:
  AnyStore() {
    if (GetParam() == "memory") {
      store_ = std::make_unique<MemoryStore>();
    } else {
      const Secret secret = Secret::random();
      server_ = std::make_unique<TcpStoreServer>(secret, StoreServerOptions{});
      store_ = std::make_unique<TcpStore>(server_->endpoint(), secret, soon());
    }
  }

  static Deadline soon() { return Deadline::after_seconds(20); }

  std::unique_ptr<TcpStoreServer> server_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, AnyStore, testing::Values("memory", "tcp"),
                         [](const auto& test) { return test.param; });

TEST_P(AnyStore, GivesBackWhatWasSet) {
  const std::string binary("\0\xff\r\n", 4);
  store_->set("a", binary);
  store_->set("b", "");

  EXPECT_EQ(store_->get("a", soon()), binary);
  EXPECT_EQ(store_->get("b", soon()), "");
}

TEST_P(AnyStore, TakesValuesUpToItsLimitAndNoLarger) {
  const std::string largest(kMaxValueBytes, 'v');
  store_->set("large", largest);

  EXPECT_EQ(store_->get("large", soon()), largest);
  EXPECT_THROW(store_->set("larger", largest + "v"), Error);
}

TEST_P(AnyStore, WaitsForAKeyThatIsSetLater) {
  std::string received;
  {
    const std::jthread reader([&] { received = store_->get("late", soon()); });
    store_->set("late", "now");
  }

  EXPECT_EQ(received, "now");
}

TEST_P(AnyStore, CountsEveryCallOfEveryThreadOnce) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 50;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) store_->add("n", 1);
      });
    }
  }

  EXPECT_EQ(store_->add("n", 0), kThreads * kCalls);
}

TEST_P(AnyStore, NamesTheKeyWhenTimeIsUp) {
  try {
    store_->get("comm/data/0/address", Deadline::after_seconds(0.1));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(text.find("comm/data/0/address"), std::string::npos) << text;
    EXPECT_NE(text.find("0.1 s"), std::string::npos) << text;
  }
}

TEST_P(AnyStore, RefusesToCountAValue) {
  store_->set("text", "abc");

  try {
    store_->add("text", 1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST_P(AnyStore, BarrierOpensWhenAllHaveCome) {
  constexpr int kRanks = 5;
  std::atomic<int> before = 0;
  std::atomic<int> early = 0;
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      ranks.emplace_back([&] {
        ++before;
        store_->barrier("start", kRanks, soon());
        if (before != kRanks) ++early;
      });
    }
  }

  EXPECT_EQ(early, 0);
}

TEST_P(AnyStore, BarrierSaysHowManyHadCome) {
  try {
    {
      std::jthread other(
          [&] { EXPECT_THROW(store_->barrier("start", 3, Deadline::after_seconds(0.4)), Error); });
    }
    store_->barrier("start", 3, Deadline::after_seconds(0.1));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(text.find("barrier \"start\": 2 of 3 had come after 0.1 s"), std::string::npos)
        << text;
  }
}

TEST_P(AnyStore, BarrierRefusesOneTooMany) {
  store_->barrier("once", 1, soon());

  try {
    store_->barrier("once", 1, soon());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

}  // namespace
}  // namespace muster::collectives
