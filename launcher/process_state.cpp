#include "launcher/process_state.hpp"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace muster::launcher {
namespace {

std::string read_proc(pid_t process, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/{}", process, name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string_view name_of(char code) {
  switch (code) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in an uninterruptible wait";
    case 'T': return "stopped";
    case 't': return "stopped by a debugger";
    case 'Z': return "ended";
    default: return "unknown";
  }
}

}  // namespace

ProcessState state_of(pid_t process) {
  const std::string stat = read_proc(process, "stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return {};
  ProcessState state{.code = stat[name_end + 2]};
  const std::string where = read_proc(process, "wchan");
  if (where != "0") state.where = where;
  return state;
}

std::string describe(const ProcessState& state) {
  if (state.code == '?') return "gone";
  const bool sleeps = state.code == 'S' || state.code == 'D';
  const std::string where = sleeps && !state.where.empty() ? " in " + state.where : "";
  return fmt::format("{} ({}{})", state.code, name_of(state.code), where);
}

bool handles_signal(pid_t process, int signal) {
  std::istringstream lines(read_proc(process, "status"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    std::istringstream word(line.substr(7));
    std::uint64_t mask = 0;
    word >> std::hex >> mask;
    return (mask >> (signal - 1) & 1U) != 0;
  }
  return false;
}

}  // namespace muster::launcher
