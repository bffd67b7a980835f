#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/temp_dir.hpp"

namespace muster {

/// Pids of the living processes whose environment holds `mark`.
std::vector<pid_t> living_with(const std::string& mark);

/// How a program ended: the code a shell would see, and what it wrote.
struct Outcome {
  int code = 0;
  double seconds = 0.0;  // from finish() to its end
  std::string out;
  std::string err;
};

/// A `muster train` of the built program with test ranks, in a folder of its own. Everything it
/// starts carries a mark, so that what is left behind can be found.
class Job {
 public:
  /// `behaviour`: see test_rank.cpp. `more`: further arguments.
  Job(int ranks, const std::string& behaviour, const std::vector<std::string>& more = {});
  /// Any command line of muster.
  explicit Job(const std::vector<std::string>& arguments);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  pid_t pid() const noexcept { return pid_; }
  /// Pid of a rank, once it has written it.
  pid_t pid_of_rank(int rank);
  /// Waits until the output holds `text`; fails the test after ten seconds.
  void wait_for_output(const std::string& text);
  /// Waits for the end, at most 20 s.
  Outcome finish();
  /// Pids of the processes that carry the mark and still live.
  std::vector<pid_t> left() const { return living_with(mark_); }
  std::string out() const;
  std::string err() const;

 private:
  void start(std::vector<std::string> arguments);

  TempDir folder_;
  std::string mark_;
  pid_t pid_ = 0;
};

/// Polls until the condition holds; false after `limit`.
bool wait_until(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(10));

/// A valid job file for test ranks: 100,000 steps of about 10 ms, a line every 5 steps.
std::string test_job();

/// Paths of the built programs.
std::string muster_program();
std::string test_rank_program();

}  // namespace muster
