#include "launcher/rank_session.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/trace/recorder.hpp"
#include "runtime/control/exit_codes.hpp"
#include "runtime/control/flight_recorder.hpp"
#include "runtime/control/reporters.hpp"

namespace muster::launcher {
namespace {

runtime::StopFlag stop_flag;  // a signal handler reaches nothing but a global

extern "C" void on_stop_signal(int signal) {
  if (stop_flag.is_asked()) {  // the second time: end as if nobody had handled it
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  stop_flag.request();
}

void handle_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  sigset_t blocked_since_start;
  ::sigemptyset(&blocked_since_start);
  ::sigaddset(&blocked_since_start, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &blocked_since_start, nullptr);
}

[[noreturn]] void leave() {
  ::_exit(runtime::kExitPeerLost);
}

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

RankSession::RankSession() : code_of_(runtime::exit_code_of) {
  runtime::open_flight_recorder();
  collectives::Fd socket = runtime::take_control_socket();
  if (!socket.is_open()) return;
  link_ = std::make_unique<runtime::LauncherLink>(
      std::move(socket), runtime::LauncherOrders{.stop = [] { stop_flag.request(); },
                                                 .abort = [](std::string_view) { leave(); },
                                                 .lost = leave});
}

const runtime::StopFlag& RankSession::stop() const noexcept {
  return stop_flag;
}

const runtime::Identity& RankSession::identify(LogLevel least) {
  handle_stop_signals();
  identity_ = runtime::read_identity(runtime::Environment::current());
  collectives::trace::Recorder::current()->set_owner(
      {.rank = identity_.rank, .size = identity_.size});
  // Our launcher puts the rank before each line.
  start_log(link_ != nullptr ? "" : fmt::format("rank {}", identity_.rank), least);
  return identity_;
}

std::unique_ptr<runtime::Reporter> RankSession::reporter(std::int64_t interval) {
  if (link_ != nullptr) return std::make_unique<runtime::LauncherReporter>(*link_, interval);
  return std::make_unique<runtime::PrintReporter>(stdout, interval);
}

int RankSession::run(const std::function<int()>& body) {
  try {
    const int code = body();
    if (link_ != nullptr && code == 0) link_->send(runtime::FinishedMessage{});
    return code;
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_memory, "out of memory: the system gives this process no more");
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, error.what());
  }
}

int RankSession::fail(ErrorCode code, const std::string& cause) {
  if (link_ != nullptr) {
    link_->send(runtime::FailingMessage{code, monotonic_ns(), cause});
  } else {
    const std::string who =
        identity_.is_single() ? "muster" : fmt::format("rank {}", identity_.rank);
    fmt::print(stderr, "{}: {}\n", who, cause);
  }
  return code_of_(code);
}

}  // namespace muster::launcher
