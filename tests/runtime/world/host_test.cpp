#include "runtime/world/host.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::runtime {
namespace {

TEST(HostId, IsTheSameInAnotherProcessOfThisHost) {
  const std::string mine = host_id();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(host_id() == mine ? 0 : 1);
  int status = -1;

  ::waitpid(child, &status, 0);

  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HostId, HoldsTheBootIdAndThreeNamespaces) {
  const std::string id = host_id();

  EXPECT_EQ(std::count(id.begin(), id.end(), '.'), 3) << id;
  EXPECT_GT(id.size(), 36U) << id;
}

TEST(HostName, IsNotEmpty) {
  EXPECT_FALSE(host_name().empty());
}

}  // namespace
}  // namespace muster::runtime
