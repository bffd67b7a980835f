#include "launcher/descendants.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/deadline.hpp"
#include "kernels/base/error.hpp"

namespace muster::launcher {
namespace {

/// Parent of a process, 0 when it is gone: the second field after the name in /proc/PID/stat.
pid_t parent_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // a name may contain anything
  if (name_end == std::string::npos || text.size() < name_end + 5) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

std::set<pid_t> children_of_this_process() {
  std::set<pid_t> children;
  const pid_t self = ::getpid();
  std::error_code gone;  // processes end while they are listed
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (parent_of(entry.path()) == self) children.insert(pid);
  }
  return children;
}

}  // namespace

Descendants::Descendants() : not_ours_(children_of_this_process()) {
  ::signal(SIGCHLD, SIG_DFL);  // ignored, which is inherited, it would reap the ranks unseen
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    throw Error(ErrorCode::io, fmt::format("cannot adopt what ranks leave behind: {}",
                                           collectives::errno_text(errno)));
  }
}

bool Descendants::end_all() const {
  const Deadline deadline = Deadline::after_seconds(2.0);
  while (!deadline.has_passed()) {
    bool is_any_left = false;
    for (const pid_t pid : children_of_this_process()) {
      if (not_ours_.contains(pid)) continue;
      is_any_left = true;
      ::kill(pid, SIGKILL);  // a child until it is waited for: the number cannot be another's
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (!is_any_left) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for the kernel to end them
  }
  return false;
}

}  // namespace muster::launcher
