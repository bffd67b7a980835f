#pragma once

#include <csignal>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::collectives {

/// Ranks as processes of their own, forked from the test. The last words of a rank are what its
/// body returns, or the text of what it throws.
class RankProcesses {
 public:
  using Body = std::function<std::string(int rank)>;

  RankProcesses(int ranks, const Body& body) {
    for (int rank = 0; rank < ranks; ++rank) start(rank, body);
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;
  ~RankProcesses() {
    for (const Process& process : processes_) {
      if (process.pid > 0) ::kill(process.pid, SIGKILL);
      if (process.pid > 0) ::waitpid(process.pid, nullptr, 0);
      ::close(process.words);
    }
  }

  pid_t pid(int rank) const { return at(rank).pid; }
  void kill(int rank) const { ::kill(at(rank).pid, SIGKILL); }

  /// Waits for the rank's end.
  std::string last_words(int rank) {
    Process& process = processes_[static_cast<std::size_t>(rank)];
    std::string words;
    char part[512];
    for (ssize_t n = 0; (n = ::read(process.words, part, sizeof(part))) > 0;) {
      words.append(part, static_cast<std::size_t>(n));
    }
    ::waitpid(process.pid, &process.status, 0);
    process.pid = 0;
    return words;
  }

 private:
  struct Process {
    pid_t pid = 0;
    int words = -1;  // reads what the rank says
    int status = 0;
  };

  const Process& at(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }

  void start(int rank, const Body& body) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t pid = ::fork();
    if (pid != 0) {
      ::close(ends[1]);
      processes_.push_back({pid, ends[0]});
      return;
    }
    ::close(ends[0]);
    std::string words;
    try {
      words = body(rank);
    } catch (const std::exception& error) {
      words = error.what();
    }
    const ssize_t written = ::write(ends[1], words.data(), words.size());
    ::_exit(written == static_cast<ssize_t>(words.size()) ? 0 : 1);
  }

  std::vector<Process> processes_;
};

}  // namespace muster::collectives
