// Ranks on two hosts: network namespaces that a pair of virtual interfaces joins. Each also has a
// bridge "docker0" of the same address, which leads nowhere.

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "collectives/tcp/tcp_fabric.hpp"
#include "tests/collectives/rank_processes.hpp"
#include "tests/collectives/tcp/tcp_ranks.hpp"

namespace muster::collectives::tcp {
namespace {

bool succeeds(const std::string& command) {
  return std::system((command + " > /dev/null 2>&1").c_str()) == 0;
}

/// Two hosts, 10.77.0.1 and 10.77.0.2, which are gone again with the object.
class TwoHosts {
 public:
  TwoHosts() {
    is_up_ = succeeds(fmt::format("ip netns add {}", name(0))) &&
             succeeds(fmt::format("ip netns add {}", name(1))) && add_bridge(0) && add_bridge(1) &&
             succeeds(fmt::format("ip link add eth0 netns {} type veth peer name eth0 netns {}",
                                  name(0), name(1))) &&
             add_address(0) && add_address(1);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;
  ~TwoHosts() {
    for (const int host : {0, 1}) succeeds(fmt::format("ip netns del {}", name(host)));
  }

  bool is_up() const noexcept { return is_up_; }

  /// Moves the calling process to a host.
  void enter(int host) const {
    const Fd file(::open(("/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC));
    if (::setns(file.number(), CLONE_NEWNET) != 0) std::abort();
  }

 private:
  std::string name(int host) const { return fmt::format("muster-{}-{}", pid_, host); }

  bool add_bridge(int host) const {
    return succeeds(fmt::format("ip -n {} link set lo up", name(host))) &&
           succeeds(fmt::format("ip -n {} link add docker0 type bridge", name(host))) &&
           succeeds(fmt::format("ip -n {} addr add 172.17.0.1/16 dev docker0", name(host))) &&
           succeeds(fmt::format("ip -n {} link set docker0 up", name(host)));
  }
  bool add_address(int host) const {
    return succeeds(
               fmt::format("ip -n {} addr add 10.77.0.{}/24 dev eth0", name(host), host + 1)) &&
           succeeds(fmt::format("ip -n {} link set eth0 up", name(host)));
  }

  const pid_t pid_ = ::getpid();  // of the test, not of its ranks
  bool is_up_ = false;
};

class TcpNamespaces : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    if (!hosts_.is_up()) GTEST_SKIP() << "this system makes no network namespaces (ip netns add)";
  }

  /// Two ranks per host exchange messages, all with all. Returns how rank 0 knows rank 3.
  std::string exchange(const std::string& interfaces) {
    MemoryStore store;
    RankProcesses ranks(4, [&](int rank) -> std::string {
      hosts_.enter(rank / 2);
      GroupSpec spec = spec_of(rank, 4);
      spec.hosts = {"a", "a", "b", "b"};
      TcpFabric fabric(spec, store, {.interfaces = interfaces}, Deadline::after_seconds(30.0));
      const auto lane = fabric.open_lane(0);
      std::vector<std::string> in(4, std::string(300'000, '\0'));
      const std::string out = message(300'000, rank, 0);
      begin(*lane, call_of(1));
      for (int peer = 0; peer < 4; ++peer) {
        if (peer == rank) continue;
        lane->send(peer, bytes_of(out));
        lane->receive(peer, room_in(in[static_cast<std::size_t>(peer)]));
      }
      lane->wait_all();
      for (int peer = 0; peer < 4; ++peer) {
        const bool is_right =
            peer == rank || in[static_cast<std::size_t>(peer)] == message(300'000, peer, 0);
        if (!is_right) return fmt::format("wrong bytes from rank {}", peer);
      }
      return fabric.describe(3 - rank);
    });
    for (const int rank : {1, 2, 3}) {
      EXPECT_TRUE(ranks.last_words(rank).starts_with("rank "));
    }
    return ranks.last_words(0);
  }

  TwoHosts hosts_;
};

TEST_F(TcpNamespaces, RanksOnTwoHostsFindEachOther) {
  const std::string peer = exchange("");

  EXPECT_NE(peer.find("10.77.0.2)"), std::string::npos) << peer;
}

TEST_F(TcpNamespaces, ABridgeThatLeadsNowhereIsTriedAndLeft) {
  const std::string peer = exchange("docker0,eth0");

  EXPECT_NE(peer.find("10.77.0.2)"), std::string::npos) << peer;
}

TEST_F(TcpNamespaces, RanksThatCannotReachEachOtherAreNamed) {
  MemoryStore store;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    hosts_.enter(rank);
    GroupSpec spec = spec_of(rank, 2);
    spec.hosts = {"a", "b"};
    TcpFabric fabric(spec, store, {.interfaces = "docker0"}, Deadline::after_seconds(1.0));
    return "connected";
  });

  for (const int rank : {0, 1}) {
    const std::string words = ranks.last_words(rank);
    EXPECT_NE(words.find(fmt::format("rank {} (pid", 1 - rank)), std::string::npos) << words;
    EXPECT_NE(words.find("172.17.0.1"), std::string::npos) << words;
    EXPECT_NE(words.find("MUSTER_INTERFACE"), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace muster::collectives::tcp
