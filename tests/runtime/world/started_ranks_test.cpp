// Real processes that join as mpirun, or a plain environment, tells them to.

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/tcp_store_server.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string output;
};

Ended shell(const std::string& command) {
  Ended ended;
  std::FILE* const pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    ended.output.append(buffer, n);
  }
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

std::string joining_rank() {
  return fs::read_symlink("/proc/self/exe").parent_path() / "joining_rank";
}

class UnderMpirun : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v mpirun").code != 0) GTEST_SKIP() << "mpirun is not installed";
    if (!fs::exists(fs::path(joining_rank()).parent_path() / "../lib/libmuster_mpi.so")) {
      GTEST_SKIP() << "built without MPI";
    }
  }

  /// mpirun 4.1 may hang when many ranks end at once: it gets a limit of time.
  static Ended mpirun(const std::string& program, const std::string& environment = "") {
    const std::string as_root = ::geteuid() == 0 ? "--allow-run-as-root " : "";
    return shell(environment + " TMPDIR=/tmp timeout -k 5 60 mpirun " + as_root +
                 "--oversubscribe -n 2 " + program);
  }
};

TEST_F(UnderMpirun, RanksMeetThroughTheMessenger) {
  const Ended ended = mpirun(joining_rank());

  EXPECT_EQ(ended.code, 0) << ended.output;
  for (const std::string line : {"rank 0 of 2, local 0 of 2, told by Open MPI",
                                 "rank 1 of 2, local 1 of 2, told by Open MPI"}) {
    EXPECT_NE(ended.output.find(line), std::string::npos) << ended.output;
  }
}

TEST_F(UnderMpirun, ARanksOwnExitCodeComesBack) {
  const Ended ended = mpirun(joining_rank() + " exit 3");

  EXPECT_EQ(ended.code, 3) << ended.output;
}

TEST_F(UnderMpirun, ARanksSignalComesBack) {
  const Ended ended = mpirun(joining_rank() + " kill");

  EXPECT_EQ(ended.code, 137) << ended.output;
}

TEST_F(UnderMpirun, MpiIsLeftAtOnceUnlessItIsToBeKept) {
  const Ended left = mpirun(joining_rank());
  const Ended kept = mpirun(joining_rank() + " keep");

  EXPECT_EQ(left.code, 0) << left.output;
  EXPECT_EQ(left.output.find("MPI is open"), std::string::npos) << left.output;
  EXPECT_EQ(kept.code, 0) << kept.output;
  EXPECT_NE(kept.output.find("MPI is open"), std::string::npos) << kept.output;
}

TEST_F(UnderMpirun, ExitCodesComeBackWhereMpiIsKeptToo) {
  const Ended exited = mpirun(joining_rank() + " keep exit 3");
  const Ended killed = mpirun(joining_rank() + " keep kill");

  EXPECT_EQ(exited.code, 3) << exited.output;
  EXPECT_EQ(killed.code, 137) << killed.output;
}

TEST_F(UnderMpirun, SlurmsVariablesOfTheDaemonAreNotBelieved) {
  const Ended ended =
      mpirun(joining_rank(), "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=3");

  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("rank 1 of 2"), std::string::npos) << ended.output;
}

TEST_F(UnderMpirun, AMissingPlugInIsNamedWithWhatToInstall) {
  const TempDir folder;
  fs::copy_file(joining_rank(), folder.path() / "joining_rank");

  const Ended ended = mpirun(folder.path("joining_rank"));

  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("libmuster_mpi.so"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("libopenmpi-dev"), std::string::npos) << ended.output;
}

class InAPlainEnvironment : public testing::Test {
 protected:
  InAPlainEnvironment() {
    using namespace collectives;
    port_ = TcpStoreServer(Secret::random(), {}).endpoint().port;  // free a moment ago
  }

  std::string secret_file(const std::string& name, fs::perms mode) const {
    std::string path = folder_.write(name, collectives::Secret::random().to_hex());
    fs::permissions(path, mode);
    return path;
  }

  std::string rank(int number, const std::string& file) const {
    return "RANK=" + std::to_string(number) +
           " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) +
           " MUSTER_SECRET_FILE=" + file + " timeout -k 5 60 " + joining_rank();
  }

  TempDir folder_;
  std::uint16_t port_ = 0;
};

TEST_F(InAPlainEnvironment, RanksMeetByAddressAndSecretFile) {
  const std::string file = secret_file("secret", fs::perms::owner_read | fs::perms::owner_write);

  const Ended ended = shell(rank(1, file) + " & " + rank(0, file) + " && wait $!");

  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("rank 1 of 2, local 1 of 2, told by environment"), std::string::npos)
      << ended.output;
}

TEST_F(InAPlainEnvironment, ARankWithAnotherSecretIsRefused) {
  const std::string right = secret_file("right", fs::perms::owner_read);
  const std::string wrong = secret_file("wrong", fs::perms::owner_read);

  const Ended ended = shell(rank(0, right) + " exit 0 >/dev/null 2>&1 & zero=$!; " +
                            rank(1, wrong) + "; code=$?; kill $zero; exit $code");

  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("secret"), std::string::npos) << ended.output;
}

TEST_F(InAPlainEnvironment, ASecretThatOthersCanReadIsRefused) {
  const std::string open = secret_file("open", fs::perms::owner_read | fs::perms::others_read);

  const Ended ended = shell(rank(1, open));

  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("0404"), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace muster::runtime
