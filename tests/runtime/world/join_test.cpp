#include "runtime/world/join.hpp"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "collectives/bootstrap/messenger.hpp"
#include "collectives/bootstrap/tcp_store_server.hpp"
#include "collectives/bootstrap/ticket.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "runtime/world/host.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using collectives::Secret;
using collectives::TcpStoreServer;

/// What a rank's thread ended with.
struct Outcome {
  World world;
  ErrorCode code = ErrorCode::internal;
  std::string error;
};

Outcome outcome_of(const Identity& identity, const JoinOptions& options) {
  Outcome outcome;
  try {
    outcome.world = join_world(identity, options);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.what();
  }
  return outcome;
}

/// Ranks of one process, a thread each, that get a ticket through a pipe as from the launcher.
class Joining : public testing::Test {
 protected:
  Identity with_ticket(int rank, int size, const std::string& job_id = "job7") {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    const std::string text =
        collectives::encode(collectives::Ticket{server_.endpoint(), secret_, job_id});
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    Identity identity;
    identity.origin = "muster";
    identity.rank = rank;
    identity.size = size;
    identity.entry = Entry::ticket;
    identity.ticket_fd = ends[0];
    return identity;
  }

  static std::vector<Outcome> join_all(const std::vector<Identity>& identities,
                                       std::vector<JoinOptions> options) {
    std::vector<Outcome> outcomes(identities.size());
    {
      std::vector<std::jthread> ranks;
      for (std::size_t i = 0; i < identities.size(); ++i) {
        ranks.emplace_back(
            [&, i] { outcomes[i] = outcome_of(identities[i], options[i % options.size()]); });
      }
    }
    return outcomes;
  }

  Secret secret_ = Secret::random();
  TcpStoreServer server_{secret_, {}};
  JoinOptions options_{.build_id = "b1", .timeout_s = 20};
};

TEST_F(Joining, GivesEveryRankTheSameMembers) {
  const auto outcomes =
      join_all({with_ticket(2, 3), with_ticket(0, 3), with_ticket(1, 3)}, {options_});

  for (const Outcome& outcome : outcomes) {
    ASSERT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.world.job_id, "job7");
    EXPECT_EQ(outcome.world.size, 3);
    EXPECT_EQ(outcome.world.local_size, 3);
    EXPECT_EQ(outcome.world.local_rank, outcome.world.rank);
    ASSERT_EQ(outcome.world.members.size(), 3U);
    EXPECT_EQ(outcome.world.members[1].rank, 1);
    EXPECT_EQ(outcome.world.members[1].pid, ::getpid());
    EXPECT_EQ(outcome.world.members[1].host_id, host_id());
    EXPECT_FALSE(outcome.world.members[1].cpus.empty());
  }
}

TEST_F(Joining, TellsAllRanksTheSameWhenTwoAreOne) {
  const auto outcomes =
      join_all({with_ticket(0, 3), with_ticket(1, 3), with_ticket(1, 3)}, {options_});

  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, ErrorCode::config) << outcome.error;
    EXPECT_NE(outcome.error.find("rank 1 (host"), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("taken"), std::string::npos) << outcome.error;
  }
}

TEST_F(Joining, TellsAllRanksOfAnotherBuild) {
  JoinOptions other = options_;
  other.build_id = "b2";

  const auto outcomes = join_all({with_ticket(0, 2), with_ticket(1, 2)}, {options_, other});

  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, ErrorCode::config) << outcome.error;
    EXPECT_NE(outcome.error.find("build b2"), std::string::npos) << outcome.error;
  }
}

TEST_F(Joining, NamesTheRanksThatDidNotCome) {
  JoinOptions hasty = options_;
  hasty.timeout_s = 0.3;

  const auto outcomes = join_all({with_ticket(0, 4), with_ticket(2, 4)}, {hasty});

  EXPECT_EQ(outcomes[0].code, ErrorCode::timeout);
  EXPECT_NE(outcomes[0].error.find("2 of 4 ranks joined within 0.3 s; missing: 1, 3"),
            std::string::npos)
      << outcomes[0].error;
  EXPECT_EQ(outcomes[1].code, ErrorCode::timeout);
}

TEST_F(Joining, RefusesOneProcessTooMany) {
  join_all({with_ticket(0, 1)}, {options_});

  const auto late = join_all({with_ticket(0, 1)}, {options_});

  EXPECT_EQ(late[0].code, ErrorCode::config);
  EXPECT_NE(late[0].error.find("process 2 to join a world of 1"), std::string::npos)
      << late[0].error;
}

TEST_F(Joining, SaysThatTheLauncherIsGoneWhenThePipeIsEmpty) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  Identity identity = with_ticket(0, 2);
  ::close(identity.ticket_fd);
  identity.ticket_fd = ends[0];

  EXPECT_EQ(outcome_of(identity, options_).code, ErrorCode::peer_lost);
}

TEST_F(Joining, RefusesADescriptorThatIsNoPipe) {
  Identity identity = with_ticket(0, 2);
  ::close(identity.ticket_fd);

  const Outcome outcome = outcome_of(identity, options_);

  EXPECT_EQ(outcome.code, ErrorCode::config);
  EXPECT_NE(outcome.error.find("MUSTER_TICKET_FD"), std::string::npos) << outcome.error;
}

/// Ranks that only know an address and a secret file, as in a plain environment.
class JoiningByAddress : public testing::Test {
 protected:
  JoiningByAddress() {
    // A port that was free a moment ago.
    port_ = TcpStoreServer(Secret::random(), {}).endpoint().port;
    secret_file_ = folder_.write("secret", Secret::random().to_hex());
    std::filesystem::permissions(secret_file_, std::filesystem::perms::owner_read);
  }

  Identity identity(int rank, int size) const {
    Identity identity;
    identity.origin = "environment";
    identity.rank = rank;
    identity.size = size;
    identity.entry = Entry::address;
    identity.store = {"127.0.0.1", port_};
    identity.secret_file = secret_file_;
    identity.job_id = "j";
    return identity;
  }

  TempDir folder_;
  std::uint16_t port_ = 0;
  std::string secret_file_;
  JoinOptions options_{.build_id = "b1", .timeout_s = 20};
};

TEST_F(JoiningByAddress, MeetsInTheStoreOfRank0AndLeavesIt) {
  constexpr int kRanks = 3;
  std::vector<std::string> errors(kRanks);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        Outcome outcome = outcome_of(identity(rank, kRanks), options_);
        errors[static_cast<std::size_t>(rank)] = outcome.error;
        if (outcome.error.empty()) leave_world(outcome.world, 20);
      });
    }
  }

  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(JoiningByAddress, NeedsASecretFile) {
  Identity bare = identity(1, 2);
  bare.secret_file = "";

  const Outcome outcome = outcome_of(bare, options_);

  EXPECT_EQ(outcome.code, ErrorCode::config);
  EXPECT_NE(outcome.error.find("MUSTER_SECRET_FILE"), std::string::npos) << outcome.error;
}

TEST_F(JoiningByAddress, IsRefusedByTheStoreOfAnotherSecret) {
  const TcpStoreServer server(Secret::random(), {.listen = {"127.0.0.1", port_}});

  const Outcome outcome = outcome_of(identity(1, 2), options_);

  EXPECT_EQ(outcome.code, ErrorCode::config);
  EXPECT_NE(outcome.error.find("secret"), std::string::npos) << outcome.error;
}

TEST(JoiningAlone, NeedsNothing) {
  const World world = join_world(Identity{}, {.build_id = "b", .timeout_s = 1});

  EXPECT_EQ(world.size, 1);
  EXPECT_EQ(world.origin, "single process");
  ASSERT_EQ(world.members.size(), 1U);
  EXPECT_EQ(world.members[0].host, host_name());
  world.store->set("k", "v");
  EXPECT_EQ(world.store->get("k", Deadline::after_seconds(1)), "v");
}

TEST(JoiningUnderMpi, RefusesAPlugInOfAnotherBuild) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (!std::filesystem::exists(folder.parent_path() / "lib" / collectives::mpi::kPlugin)) {
    GTEST_SKIP() << "built without MPI";
  }
  Identity identity;
  identity.origin = "Open MPI";
  identity.size = 2;
  identity.entry = Entry::messenger;

  const Outcome outcome = outcome_of(identity, {.build_id = "other-build", .timeout_s = 1});

  EXPECT_EQ(outcome.code, ErrorCode::config);
  EXPECT_NE(outcome.error.find("this program is build other-build"), std::string::npos)
      << outcome.error;
}

}  // namespace
}  // namespace muster::runtime
