#include <csignal>
#include <fstream>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kJobLine = "muster: job ";

std::string id_of(Job& job) {
  job.wait_for_output(std::string(kJobLine));
  const std::string text = job.err();
  return text.substr(text.find(kJobLine) + kJobLine.size(), 8);
}

Outcome muster(const std::vector<std::string>& arguments) {
  return Job(arguments).finish();
}

std::string open_doors() {
  std::ifstream sockets("/proc/net/unix");
  return {std::istreambuf_iterator<char>(sockets), {}};
}

TEST(Status, ShowsWhatAStoppedRankIsAtAndWhoWaitsForIt) {
  Job job(2, "together");
  const std::string id = id_of(job);
  const pid_t stopped = job.pid_of_rank(1);
  job.wait_for_output("step ");
  ::kill(stopped, SIGSTOP);

  const std::regex waiting(
      "0 +[0-9]+ +[A-Z] .* step .*all_reduce f32\\[4\\] sum \"gradients\".* for .*rank 1 ");
  Outcome status;
  const bool is_seen = wait_until([&] {
    status = muster({"status", id});
    return std::regex_search(status.out, waiting);
  });

  EXPECT_TRUE(is_seen) << status.out << status.err;
  EXPECT_EQ(status.code, 0);
  EXPECT_THAT(status.out, HasSubstr("job " + id));
  EXPECT_THAT(status.out, ContainsRegex(fmt::format("1 +{} +T \\(stopped\\)", stopped)));
}

TEST(Status, TakesThePidOfTheLauncherAndListsJobs) {
  Job job(1, "");
  const std::string id = id_of(job);
  job.wait_for_output("step ");

  EXPECT_THAT(muster({"status", std::to_string(job.pid())}).out, HasSubstr("job " + id));
  EXPECT_THAT(muster({"status"}).out, ContainsRegex(fmt::format("{} +{}", id, job.pid())));
}

TEST(Status, OfAJobThatIsNotThereNamesThoseThatAre) {
  Job job(1, "");
  const std::string id = id_of(job);
  job.wait_for_output("step ");

  const Outcome status = muster({"status", "nonesuch"});

  EXPECT_EQ(status.code, 2);
  EXPECT_THAT(status.err, HasSubstr("no job \"nonesuch\" runs on this host"));
  EXPECT_THAT(status.err, HasSubstr(id));
}

TEST(Status, SaysThatTheLauncherDoesNotAnswer) {
  Job job(1, "");
  const std::string id = id_of(job);
  job.wait_for_output("step ");
  ::kill(job.pid(), SIGSTOP);

  const Outcome status = muster({"status", id});
  ::kill(job.pid(), SIGCONT);

  EXPECT_EQ(status.code, 1);
  EXPECT_THAT(status.err, HasSubstr("has not answered within 5 s; state T (stopped)"));
}

TEST(Status, IsForTheUsersOwnJobs) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  Job job(1, "");
  const std::string id = id_of(job);
  job.wait_for_output("step ");

  const std::string command =
      fmt::format("runuser -u nobody -- {} status {} 2>&1; echo code $?", muster_program(), id);
  FILE* const pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  ::pclose(pipe);

  if (text.find("ermission denied") != std::string::npos) GTEST_SKIP() << text;
  EXPECT_THAT(text, HasSubstr("belongs to user 0"));
  EXPECT_THAT(text, HasSubstr("code 2"));
  EXPECT_THAT(text, Not(HasSubstr("phase")));
}

TEST(Status, LeavesNoSocketBehind) {
  Job job(1, "");
  const std::string id = id_of(job);
  EXPECT_TRUE(wait_until([&] { return open_doors().find("/" + id) != std::string::npos; }));

  ::kill(job.pid(), SIGINT);
  job.finish();

  EXPECT_THAT(open_doors(), Not(HasSubstr("/" + id)));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Dump, ShowsTheLastCallsOfAStoppedRank) {
  Job job(2, "together");
  const std::string id = id_of(job);
  const pid_t stopped = job.pid_of_rank(1);
  job.wait_for_output("step 10/");
  ::kill(stopped, SIGSTOP);

  const Outcome text = muster({"dump", id, "--entries", "3"});
  const Outcome json = muster({"dump", id, "--entries", "3", "--json"});

  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              ContainsRegex(fmt::format("rank 1 \\(pid {}\\)\n  #[0-9]+ all_reduce "
                                        "f32\\[4\\] sum \"gradients\" .*\n  #.*\n  #.*\n$",
                                        stopped)));
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"label\": \"gradients\""));
  EXPECT_THAT(json.out, HasSubstr("\"state\": \"T\""));
}

}  // namespace
}  // namespace muster
