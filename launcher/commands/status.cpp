#include "launcher/commands/status.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/trace/describe.hpp"
#include "collectives/trace/recorder.hpp"
#include "collectives/trace/stragglers.hpp"
#include "kernels/base/error.hpp"
#include "launcher/process_state.hpp"
#include "launcher/running_job.hpp"
#include "runtime/world/host.hpp"

namespace muster::launcher {
namespace {

namespace trace = collectives::trace;

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
}

std::string command_line_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", process), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!text.empty()) text.pop_back();
  for (char& c : text) {
    if (c == '\0') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  }
  return text;
}

std::string jobs_text() {
  std::string text;
  for (const JobName& job : running_jobs()) {
    if (job.user != ::getuid()) continue;
    text += fmt::format("{:<10} {:>8}  {}\n", job.id, job.launcher, command_line_of(job.launcher));
  }
  return text.empty() ? "no job of yours runs on this host\n"
                      : fmt::format("{:<10} {:>8}  {}\n", "job", "launcher", "command") + text;
}

struct Row {
  std::string rank, pid, state, phase, step, call, waits;
};

/// Ranks by the keys of their waits.
std::string peer_text(const RunningJob& job, const std::string& host_id,
                      const trace::WaitView& wait) {
  for (const RunningRank& rank : job.ranks) {
    const trace::PeerName name{.pid = rank.pid, .host_id = host_id};
    if (name.key() == wait.peer) return fmt::format("rank {}", rank.rank);
  }
  return fmt::format("rank {} of group {}", wait.peer_rank, wait.call.group);
}

/// The call that has run longest.
std::string call_text(const trace::RecordReader& record, std::int64_t now_ns) {
  std::string text;
  for (const trace::EntryView& entry : record.last_calls(trace::kEntries)) {
    if (entry.outcome != trace::Outcome::running) continue;
    if (text.empty()) {
      text = fmt::format("{} for {}", trace::describe(entry.call),
                         trace::duration_text(now_ns - entry.begin_ns));
    }
  }
  return text.empty() ? "-" : text;
}

Row row_of(const RunningJob& job, const RunningRank& rank, const std::string& host_id) {
  const std::string state = rank.has_ended ? "ended" : describe(state_of(rank.pid));
  Row row{std::to_string(rank.rank), std::to_string(rank.pid), state, "starting", "-", "-", "-"};
  if (!rank.record.is_open()) return row;
  const trace::NowView now = rank.record.now();
  const std::int64_t now_ns = trace::Clock::monotonic_ns();
  row.phase = fmt::format("{} {}", now.phase, trace::duration_text(now_ns - now.phase_since_ns));
  if (now.step >= 0) row.step = std::to_string(now.step);
  row.call = call_text(rank.record, now_ns);
  for (const trace::WaitView& wait : now.waits) {
    row.waits =
        fmt::format("{}{} {}", row.waits == "-" ? "" : row.waits + ", ",
                    peer_text(job, host_id, wait), trace::duration_text(now_ns - wait.since_ns));
  }
  return row;
}

std::string table(const std::vector<Row>& rows) {
  constexpr std::string Row::*kColumns[] = {&Row::rank, &Row::pid,  &Row::state, &Row::phase,
                                            &Row::step, &Row::call, &Row::waits};
  std::vector<std::string> lines(rows.size());
  for (std::string Row::*column : kColumns) {
    std::size_t width = 0;
    for (const Row& row : rows) width = std::max(width, (row.*column).size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      lines[i] += fmt::format("{}{:<{}}", lines[i].empty() ? "" : "  ", rows[i].*column, width);
    }
  }
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string straggler_text(const RunningJob& job, const std::string& host_id) {
  const std::size_t size = job.ranks.size();
  std::vector<double> waited(size * size, 0.0);
  double within_s = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!job.ranks[i].record.is_open()) return {};
    const trace::NowView now = job.ranks[i].record.now();
    within_s = std::max(within_s, now.waited_within_s);
    const auto add = [&](std::uint64_t peer, double seconds) {
      for (std::size_t other = 0; other < size; ++other) {
        const trace::PeerName name{.pid = job.ranks[other].pid, .host_id = host_id};
        if (name.key() == peer) waited[i * size + other] += seconds;
      }
    };
    for (const trace::WaitedView& each : now.waited) add(each.peer, each.seconds);
    for (const trace::WaitView& wait : now.waits) {
      const auto ns = static_cast<double>(trace::Clock::monotonic_ns() - wait.since_ns);
      add(wait.peer, std::max(ns, 0.0) / 1e9);
    }
  }
  const auto straggler = trace::find_straggler(waited, static_cast<int>(size), within_s);
  if (!straggler) return {};
  return "straggler: " + trace::describe(*straggler, runtime::host_name()) + "\n";
}

}  // namespace

int run_status_command(const StatusCommand& command) {
  if (command.job.empty()) {
    print(jobs_text());
    return 0;
  }
  const RunningJob job = open_running_job(command.job);
  const std::string host_id = runtime::host_id();
  std::vector<Row> rows = {{"rank", "pid", "state", "phase", "step", "call", "waits for"}};
  for (const RunningRank& rank : job.ranks) rows.push_back(row_of(job, rank, host_id));
  print(fmt::format("job {}, launcher pid {}, {}, host {}\n", job.name.id, job.name.launcher,
                    describe(state_of(job.name.launcher)), runtime::host_name()) +
        table(rows) + straggler_text(job, host_id));
  return 0;
}

}  // namespace muster::launcher
