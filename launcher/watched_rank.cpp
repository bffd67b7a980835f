#include "launcher/watched_rank.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/trace/describe.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/control/packet_socket.hpp"

namespace muster::launcher {
namespace {

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

WatchedRank::WatchedRank(RankProcess process, Console& console)
    : process_(std::move(process)), record_(process_.trace), console_(console) {
  end_.rank = process_.rank;
  end_.pid = process_.pid;
}

void WatchedRank::obey(const runtime::Message& message) {
  if (const auto* const progress = std::get_if<runtime::ProgressMessage>(&message)) {
    if (end_.rank == 0) console_.progress(*progress);
  } else if (const auto* const lines = std::get_if<runtime::LinesMessage>(&message)) {
    show(lines->text);
  } else if (const auto* const failing = std::get_if<runtime::FailingMessage>(&message)) {
    if (!end_.failing) end_.failing = *failing;
  } else if (std::holds_alternative<runtime::FinishedMessage>(message)) {
    end_.has_finished = true;
  }
}

void WatchedRank::show(std::string_view text) {
  if (end_.rank == 0) {
    console_.report(text);
    return;
  }
  const auto take = [&](std::string_view line) {
    console_.rank_line(end_.rank, Stream::out, line);
  };
  LineSplitter lines;
  lines.add(text, take);
  lines.finish(take);
}

void WatchedRank::take_messages() {
  while (process_.control.is_open()) {
    try {
      const runtime::Received received = runtime::receive(process_.control.number(), false);
      if (received.is_closed) process_.control.reset();
      if (!received.message) return;
      obey(*received.message);
    } catch (const Error& error) {  // a message boundary: what is malformed is said and left out
      console_.notice(fmt::format("message of rank {} ignored: {}", end_.rank, error.what()));
    }
  }
}

bool WatchedRank::read_some(Stream stream) {
  collectives::Fd& fd = stream == Stream::out ? process_.out : process_.err;
  if (!fd.is_open()) return false;
  std::array<char, 65536> buffer;
  const ssize_t bytes = ::read(fd.number(), buffer.data(), buffer.size());
  if (bytes < 0 && errno == EINTR) return true;
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (bytes <= 0) {
    fd.reset();
    return false;
  }
  LineSplitter& lines = stream == Stream::out ? out_lines_ : err_lines_;
  lines.add({buffer.data(), static_cast<std::size_t>(bytes)},
            [&](std::string_view line) { console_.rank_line(end_.rank, stream, line); });
  return true;
}

void WatchedRank::take_output(Stream stream) {
  read_some(stream);
}

void WatchedRank::take_last_output() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    while (read_some(stream)) {
    }
    LineSplitter& lines = stream == Stream::out ? out_lines_ : err_lines_;
    lines.finish([&](std::string_view line) { console_.rank_line(end_.rank, stream, line); });
  }
}

void WatchedRank::take_end() {
  take_messages();
  siginfo_t info = {};
  const auto pidfd = static_cast<id_t>(process_.pidfd.number());
  if (::waitid(P_PIDFD, pidfd, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
  signal_group(SIGKILL);  // while the rank is not reaped, its group's number is nobody else's
  ::waitid(P_PIDFD, pidfd, &info, WEXITED);
  end_.is_signal = info.si_code != CLD_EXITED;
  end_.number = info.si_status;
  end_.ended_ns = monotonic_ns();
  end_.has_ended = true;
  if (end_.is_signal) end_.last_operation = last_operation();
  process_.pidfd.reset();
}

std::string WatchedRank::last_operation() const {
  namespace trace = collectives::trace;
  try {
    if (!record_.is_open()) return {};
    const std::optional<trace::EntryView> last = record_.last_call();
    const trace::NowView now = record_.now();
    if (!last) return {};
    return fmt::format("{}; it was in: {}", trace::describe(*last, trace::Clock::monotonic_ns()),
                       trace::describe_phase(now));
  } catch (const Error& error) {  // a message boundary: the record is another program's
    return error.what();
  }
}

void WatchedRank::ask_to_stop() {
  if (process_.control.is_open()) {
    runtime::send_now(process_.control.number(), runtime::StopMessage{});
  }
}

void WatchedRank::tell_to_end(std::string_view reason) {
  mark_told();
  if (process_.control.is_open()) {
    runtime::send_now(process_.control.number(), runtime::AbortMessage{std::string(reason)});
  }
  signal_group(SIGTERM);
}

void WatchedRank::kill() {
  mark_told();
  signal_group(SIGKILL);
}

void WatchedRank::mark_told() {
  if (!end_.told_ns) end_.told_ns = monotonic_ns();
}

void WatchedRank::signal_group(int signal) const {
  ::kill(-process_.pid, signal);
}

}  // namespace muster::launcher
