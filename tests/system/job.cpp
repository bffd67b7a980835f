#include "tests/system/job.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool lives(const std::filesystem::path& folder) {
  const std::string stat = read_all((folder / "stat").string());
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z' &&
         stat[name_end + 2] != 'X';
}

}  // namespace

std::string muster_program() {
  return MUSTER_BIN_DIR "/muster";
}

std::string test_rank_program() {
  return MUSTER_BIN_DIR "/muster_test_rank";
}

std::string test_job() {
  return "[model]\nlayers = 1\nhidden = 32\nheads = 1\n"
         "[[data.train]]\npath = \"text.txt\"\n"
         "[training]\nsteps = 100000\nglobal_batch_size = 1\n"
         "[logging]\ninterval = 5\n";
}

Job::Job(int ranks, const std::string& behaviour, const std::vector<std::string>& more) {
  const std::string job = folder_.write("job.toml", test_job());
  std::vector<std::string> arguments = {
      "train", job,
      "-n",    std::to_string(ranks),
      "--set", "job.name=" + (behaviour.empty() ? "none" : behaviour)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  start(arguments);
}

Job::Job(const std::vector<std::string>& arguments) {
  start(arguments);
}

void Job::start(std::vector<std::string> arguments) {
  mark_ = "SYSTEM_TEST_MARK=" + folder_.path().string();
  arguments.insert(arguments.begin(), muster_program());
  std::vector<std::string> environment = {mark_, "MUSTER_RANK_PROGRAM=" + test_rank_program()};
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, folder_.path("out").c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, folder_.path("err").c_str(), flags, 0600);
  const int error = ::posix_spawn(&pid_, arguments.front().c_str(), &files, nullptr,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) ADD_FAILURE() << "cannot start " << arguments.front() << ": error " << error;
}

Job::~Job() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const pid_t pid : left()) ::kill(pid, SIGKILL);
}

std::string Job::out() const {
  return read_all(folder_.path("out"));
}

std::string Job::err() const {
  return read_all(folder_.path("err"));
}

void Job::wait_for_output(const std::string& text) {
  const bool is_there = wait_until([&] { return (out() + err()).find(text) != std::string::npos; });
  EXPECT_TRUE(is_there) << "no \"" << text << "\" in:\n" << out() << err();
}

pid_t Job::pid_of_rank(int rank) {
  const std::string before = fmt::format("[{}] pid ", rank);
  wait_for_output(before);
  const std::string text = out();
  const std::size_t at = text.find(before);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + before.size());
}

Outcome Job::finish() {
  const Clock::time_point begin = Clock::now();
  int status = 0;
  const bool has_ended = wait_until([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; },
                                    std::chrono::seconds(20));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!has_ended) {
    ADD_FAILURE() << "no end after " << seconds << " s:\n" << out() << err();
    return {-1, seconds, out(), err()};
  }
  pid_ = 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, seconds, out(), err()};
}

std::vector<pid_t> living_with(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    const std::string environment = read_all((entry.path() / "environ").string());
    if (environment.find(mark) != std::string::npos && lives(entry.path())) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace muster
