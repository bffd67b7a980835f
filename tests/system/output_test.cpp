#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Output, PrefixesLinesOfRanksAndNotTheReport) {
  Job job(2, "1:write=half 1:wait=50 1:write=-line 1:newline 0:complain=last",
          {"--set", "training.steps=3"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n[1] half-line\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nreport of rank 0\n"));
  EXPECT_THAT(outcome.err, HasSubstr("[0] last\n"));  // without a newline of its own
}

TEST(Output, InAFileHasWholeLinesAtIntervals) {
  Job job(1, "0:colours", {"--set", "training.steps=12"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("\r")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.out, HasSubstr("[0] 50%red\n"));
  std::string steps;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) steps += line.substr(5, line.find('/') - 5) + " ";
  }
  EXPECT_EQ(steps, "1 5 10 12 ");
}

TEST(Output, SurvivesAMegabyteWithoutANewline) {
  Job job(1, "0:megabyte", {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), 'x'), 1 << 20);
}

/// Everything a program writes to a terminal that is its own.
std::string on_a_terminal(const std::string& command) {
  int terminal = -1;
  winsize size = {.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t bytes = 0;
  while ((bytes = ::read(terminal, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  ::close(terminal);
  ::waitpid(pid, nullptr, 0);
  return text;
}

TEST(Output, OnATerminalRedrawsOneLineNoLongerThanTheTerminal) {
  const TempDir folder;
  const std::string job = folder.write("job.toml", test_job());

  const std::string text =
      on_a_terminal("MUSTER_RANK_PROGRAM=" + test_rank_program() + " " + muster_program() +
                    " train " + job + " --set training.steps=40 --set job.name=0:wait=50");

  EXPECT_THAT(text, HasSubstr("report of rank 0"));
  EXPECT_THAT(text, HasSubstr("\r\x1b[Kstep 40/40"));
  EXPECT_THAT(text, ContainsRegex("step 40/40[^\n]*\r\n"));  // left standing at the end
  const auto redraws = [&] {
    std::size_t count = 0;
    for (std::size_t at = text.find("\r\x1b[K"); at != std::string::npos;
         at = text.find("\r\x1b[K", at + 1)) {
      ++count;
    }
    return count;
  }();
  EXPECT_GE(redraws, 3U);
  EXPECT_LE(redraws, 40U);
}

TEST(Output, ThatWaitsForAReaderDoesNotKeepTheLauncherFromEndingRanks) {
  const TempDir folder;
  const std::string job = folder.write("job.toml", test_job());
  const std::string mark = "SYSTEM_TEST_MARK=" + folder.path().string();
  const std::string command =
      fmt::format("{} MUSTER_RANK_PROGRAM={} exec {} train {} -n 2 --set 'job.name={}' 2>{}", mark,
                  test_rank_program(), muster_program(), job,
                  "0:megabyte 0:megabyte 0:megabyte 1:wait=300 1:exit=3", folder.path("err"));
  std::FILE* const unread = ::popen(command.c_str(), "r");
  ASSERT_NE(unread, nullptr);

  EXPECT_TRUE(wait_until([&] { return living_with(mark).size() == 3; }));
  EXPECT_TRUE(wait_until([&] { return living_with(mark).size() == 1; }));  // the launcher waits

  for (std::array<char, 65536> buffer; std::fread(buffer.data(), 1, buffer.size(), unread) > 0;) {
  }
  const int status = ::pclose(unread);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(Output, ThatNobodyReadsDoesNotEndTheJob) {
  const TempDir folder;
  const std::string job = folder.write("job.toml", test_job());
  const std::string command = "MUSTER_RANK_PROGRAM=" + test_rank_program() + " sh -c '" +
                              muster_program() + " train " + job +
                              " --set training.steps=30; echo code $? >" + folder.path("code") +
                              "' | head -n 1 >" + folder.path("head");

  ASSERT_EQ(std::system(command.c_str()), 0);

  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder.path("code")); }));
  std::ifstream code(folder.path("code"));
  std::string text;
  EXPECT_TRUE(wait_until([&] {
    code.clear();
    code.seekg(0);
    return static_cast<bool>(std::getline(code, text));
  }));
  EXPECT_EQ(text, "code 0");
}

}  // namespace
}  // namespace muster
