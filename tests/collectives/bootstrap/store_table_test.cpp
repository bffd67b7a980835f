#include "collectives/bootstrap/store_table.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

TEST(StoreTable, KeepsTheLastValue) {
  StoreTable table;
  EXPECT_EQ(table.find("k"), nullptr);

  table.set("k", "1");
  table.set("k", "");

  ASSERT_NE(table.find("k"), nullptr);
  EXPECT_EQ(*table.find("k"), "");
}

TEST(StoreTable, CountsFromZeroAndShowsTheCountAsText) {
  StoreTable table;

  EXPECT_EQ(table.add("n", 3), 3);
  EXPECT_EQ(table.add("n", -5), -2);
  EXPECT_EQ(*table.find("n"), "-2");
}

TEST(StoreTable, RefusesToCountWhatIsNoCounterOrOverflows) {
  StoreTable table;
  table.set("text", "12x");
  table.add("n", std::numeric_limits<std::int64_t>::max());

  EXPECT_THROW(table.add("text", 1), Error);
  EXPECT_THROW(table.add("n", 1), Error);
  EXPECT_EQ(*table.find("text"), "12x");
}

TEST(StoreTable, WakesOnceThoseWhoWaitForThatKey) {
  StoreTable table;
  int first = 0;
  int second = 0;
  int other = 0;
  table.wait("k", [&] { ++first; });
  table.wait("k", [&] { ++second; });
  table.wait("other", [&] { ++other; });

  table.set("k", "1");
  table.set("k", "2");

  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(other, 0);
}

TEST(StoreTable, DoesNotWakeWhoStoppedWaiting) {
  StoreTable table;
  int woken = 0;
  const auto waiting = table.wait("n", [&] { ++woken; });

  table.unwait(waiting);
  table.add("n", 1);

  EXPECT_EQ(woken, 0);
}

}  // namespace
}  // namespace muster::collectives
