#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/temp_dir.hpp"
#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Real training of three ranks over tcp, each run in the same output folder.
class TrainingOverTcp : public testing::Test {
 protected:
  /// `before`: variables, `after`: further arguments.
  Outcome run(const std::string& before, const std::string& after) {
    const std::string command = fmt::format(
        "{} timeout 60 {} train {} -n 3 --set job.output_dir={} {} >{} 2>&1 </dev/null", before,
        muster_program(), job_, folder_.path("out"), after, folder_.path("said"));
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = read(folder_.path("said"))};
  }
  std::string plan() const { return read(folder_.path("out/plan.json")); }
  /// The losses of all steps, digit by digit.
  std::string losses() const {
    std::istringstream lines(read(folder_.path("out/metrics.jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("\"loss\"");
      if (at != std::string::npos) text += line.substr(at, line.find(',', at) - at) + "\n";
    }
    return text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TempDir folder_;
  std::string text_ = folder_.write("text.txt", std::string(4000, 'm') + " one two three\n");
  std::string job_ = folder_.write("job.toml",
                                   "[model]\nlayers = 1\nhidden = 32\nheads = 2\n"
                                   "[[data.train]]\npath = \"text.txt\"\n"
                                   "[data]\nseq_len = 32\n"
                                   "[training]\nsteps = 2\nglobal_batch_size = 6\n"
                                   "precision = \"fp32\"\n"
                                   "[checkpoint]\nresume = \"never\"\n"
                                   "[probe]\nenable = false\n"
                                   "[comm]\nbackend = \"tcp\"\n");
};

TEST_F(TrainingOverTcp, IsDoneAgainByTheRecordedAlgorithms) {
  const Outcome first = run("", "--set comm.algo=all_reduce=ring");
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_THAT(plan(), AllOf(HasSubstr("\"world\": 3"), HasSubstr("\"backend\": \"tcp\""),
                            HasSubstr("all_reduce=ring")));
  const std::string first_plan = plan();
  const std::string first_losses = losses();
  EXPECT_THAT(first_losses, HasSubstr("loss"));

  const Outcome again = run("", "");

  ASSERT_EQ(again.code, 0) << again.out;
  EXPECT_THAT(again.out, HasSubstr("algorithms: all_reduce=ring, as recorded in "));
  EXPECT_EQ(plan(), first_plan);
  EXPECT_EQ(losses(), first_losses);

  const Outcome other = run("MUSTER_ALGO=all_reduce=tree", "");
  EXPECT_THAT(other.out, HasSubstr("algorithms: all_reduce=tree, as MUSTER_ALGO says"));
  EXPECT_THAT(plan(), HasSubstr("all_reduce=tree"));
}

TEST_F(TrainingOverTcp, IsDoneByTheCheapestOverTheLinksAsMeasuredOnce) {
  const std::string probe = "--set probe.enable=true --set probe.budget_seconds=0.1";
  const Outcome first = run("", probe);
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_THAT(first.out, AllOf(HasSubstr("algorithms: the cheapest over links of "),
                               HasSubstr("GB/s, as measured")));
  const std::string first_plan = plan();
  EXPECT_THAT(first_plan, AllOf(HasSubstr("alpha_s="), Not(HasSubstr("alpha_s=3e-05"))));

  const Outcome again = run("", probe);

  ASSERT_EQ(again.code, 0) << again.out;
  EXPECT_THAT(again.out, HasSubstr("algorithms: auto, as recorded in "));
  EXPECT_EQ(plan(), first_plan);
}

TEST_F(TrainingOverTcp, RefusesADamagedRecordAndANameThatIsNotThere) {
  ASSERT_EQ(run("", "").code, 0);
  std::ofstream(folder_.path("out/plan.json")) << plan().substr(0, 40);

  const Outcome damaged = run("", "");
  EXPECT_EQ(damaged.code, 2) << damaged.out;
  EXPECT_THAT(damaged.out, HasSubstr("out/plan.json"));
  const Outcome unknown = run("", "--set comm.algo=rnig");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_THAT(unknown.out, HasSubstr("nearest: \"ring\""));
}

}  // namespace
}  // namespace muster
