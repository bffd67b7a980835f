#include "collectives/tcp/service.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "collectives/net/resolve.hpp"
#include "collectives/tcp/control_connection.hpp"
#include "collectives/tcp/dial.hpp"
#include "collectives/tcp/doorman.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives::tcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedialPause{50};  // at first; it grows
constexpr milliseconds kLongestRedialPause{1000};
constexpr double kDialLimitS = 2.0;         // for one address
constexpr double kDataDialLimitS = 10.0;    // for one connection, however often it is tried
constexpr milliseconds kGoodbyeLimit{300};  // for all goodbyes together

}  // namespace

class Service::Impl {
 public:
  explicit Impl(const Setup& setup)
      : state_(setup.state),
        secret_(setup.secret),
        introducer_(setup.secret, setup.state.name()),
        encrypts_(setup.encrypts),
        sockets_(setup.sockets),
        addresses_(static_cast<std::size_t>(state_.size())),
        reasons_(static_cast<std::size_t>(state_.size())),
        controls_(static_cast<std::size_t>(state_.size())),
        doorman_({context_,
                  secret_,
                  introducer_,
                  state_.rank(),
                  state_.size(),
                  {setup.most_strangers, setup.handshake_limit_s},
                  [this](const Introduction& introduction, Greeted greeted) {
                    admit(introduction, std::move(greeted));
                  }},
                 setup.addresses) {
    doorman_.open();
    thread_ = std::jthread([this] { run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    asio::post(context_, [this] { leave(); });
    thread_.join();
  }

  std::vector<Endpoint> endpoints() const {
    std::vector<Endpoint> all;
    for (const Tcp::endpoint& endpoint : doorman_.endpoints()) {
      all.push_back({endpoint.address().to_string(), endpoint.port()});
    }
    return all;
  }

  void call(int peer, std::vector<Endpoint> candidates) {
    asio::co_spawn(
        context_,
        [this, peer, candidates = std::move(candidates)] { return call_peer(peer, candidates); },
        asio::detached);
  }

  void await_everyone(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] {
      return present_ == state_.size() - 1 || state_.is_aborted() || state_.first_lost() >= 0;
    };
    if (deadline.is_never()) {
      changed_.wait(lock, is_over);
    } else if (!changed_.wait_until(lock, deadline.when(), is_over)) {
      lock.unlock();
      throw_missing();
    }
    if (present_ < state_.size() - 1) {
      throw Error(ErrorCode::peer_lost,
                  fmt::format("{} while group {} was made",
                              state_.is_aborted() ? state_.abort_text()
                                                  : state_.lost_text(state_.first_lost()),
                              state_.name()));
    }
  }

  template <typename Body>
  void post(Body&& body) {
    asio::post(context_, std::forward<Body>(body));
  }

  // The rest runs on the service's thread alone.

  void connect(int peer, int lane) {
    if (!begun_.insert({peer, lane}).second) return;
    if (state_.rank() > peer) return tell(peer, {ControlKind::wish, lane});
    for (int index = 0; index < sockets_; ++index) {
      const Introduction introduction{state_.rank(), peer, lane, index, sockets_};
      asio::co_spawn(
          context_, [this, introduction] { return connect_data(introduction); }, asio::detached);
    }
  }

  void tell(int peer, const Control& control) {
    const auto& connection = controls_[static_cast<std::size_t>(peer)];
    // One that has not taken what it was given before need not be told again that we live.
    const bool is_needless = connection == nullptr ||
                             (control.kind == ControlKind::heartbeat && connection->is_sending());
    if (!is_needless) connection->send(control);
  }

  void note_mismatch(const Control& control) {
    auto& mismatch = mismatches_[static_cast<std::size_t>(control.lane)];
    if (!mismatch) mismatch = control;
    state_.inbox(control.lane)
        .fail({control.number, Error(ErrorCode::invalid_argument, control.text)});
  }

  void tell_everyone(const Control& control) {
    for (int peer = 0; peer < state_.size(); ++peer) tell(peer, control);
  }

 private:
  void run() noexcept {
    try {
      context_.run();
    } catch (const std::exception& error) {
      log_error(fmt::format("tcp: service stopped: reason=\"{}\"", error.what()));
      state_.note_abort(state_.rank(), fmt::format("its tcp service stopped: {}", error.what()));
    }
  }

  void leave() {
    is_leaving_ = true;
    pass_on_causes();
    tell_everyone({ControlKind::goodbye});
    const auto limit = Deadline::after(kGoodbyeLimit);
    asio::co_spawn(
        context_, [this, limit] { return stop_when_told(limit); }, asio::detached);
  }

  // Our goodbye may arrive before that for which we leave.
  void pass_on_causes() {
    for (int lane = 0; lane < Communicator::kMaxLanes; ++lane) {
      if (const auto& mismatch = mismatches_[static_cast<std::size_t>(lane)]) {
        tell_everyone(*mismatch);
      }
    }
    if (const auto abort = state_.abort()) {
      tell_everyone({ControlKind::abort, 0, abort->reason, static_cast<std::uint32_t>(abort->by)});
    }
  }

  asio::awaitable<void> stop_when_told(Deadline limit) {
    asio::steady_timer timer(context_);
    const auto is_telling = [](const auto& connection) {
      return connection != nullptr && connection->is_sending();
    };
    while (std::ranges::any_of(controls_, is_telling) && !limit.has_passed()) {
      timer.expires_after(milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    context_.stop();
  }

  asio::awaitable<void> call_peer(int peer, std::vector<Endpoint> candidates) {
    const Introduction introduction{state_.rank(), peer, Introduction::kControl, 0, 1};
    const DialRequest request{secret_, introducer_, introduction};
    asio::steady_timer timer(context_);
    milliseconds pause = kRedialPause;
    while (!is_leaving_) {
      std::string reasons;
      for (const Endpoint& candidate : candidates) {
        const Tcp::endpoint to(asio::ip::make_address(candidate.host), candidate.port);
        try {
          Greeted greeted = co_await dial(context_, to, request, kDialLimitS);
          addresses_[static_cast<std::size_t>(peer)] = to;
          add_control(peer, std::move(greeted));
          co_return;
        } catch (const std::exception& error) {
          reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(candidate),
                                 error.what());
        }
      }
      log_debug(fmt::format("tcp: not connected: group={} peer={} reason=\"{}\"", state_.name(),
                            peer, reasons));
      note_reason(peer, std::move(reasons));
      timer.expires_after(pause);
      co_await timer.async_wait(asio::use_awaitable);
      pause = std::min(2 * pause, kLongestRedialPause);
    }
  }

  asio::awaitable<void> connect_data(Introduction introduction) {
    const DialRequest request{secret_, introducer_, introduction};
    const auto limit = Deadline::after_seconds(kDataDialLimitS);
    const int peer = introduction.to;
    asio::steady_timer timer(context_);
    std::string reason;
    while (!limit.has_passed() && state_.presence(peer) == Presence::here && !is_leaving_) {
      try {
        const Tcp::endpoint to = addresses_[static_cast<std::size_t>(peer)];
        Greeted greeted = co_await dial(context_, to, request, kDialLimitS);
        deliver(peer, introduction, greeted);
        co_return;
      } catch (const std::exception& error) {
        reason = error.what();
      }
      timer.expires_after(kRedialPause);
      co_await timer.async_wait(asio::use_awaitable);
    }
    // Of a peer that is gone the group knows already.
    if (state_.presence(peer) != Presence::here || is_leaving_) co_return;
    const std::string text = fmt::format("no data connection to {} after {} s of trying: {}",
                                         state_.describe(peer), kDataDialLimitS, reason);
    state_.inbox(introduction.lane).fail({0, Error(ErrorCode::peer_lost, text)});
  }

  void admit(const Introduction& introduction, Greeted greeted) {
    if (introduction.from > state_.rank()) {
      throw Error(ErrorCode::io, "the lower rank connects to the higher one");
    }
    if (introduction.lane != Introduction::kControl) {
      return deliver(introduction.from, introduction, greeted);
    }
    add_control(introduction.from, std::move(greeted));
  }

  std::optional<ConnectionKeys> keys_of(const Greeted& greeted) const {
    if (!encrypts_) return std::nullopt;
    return derive_keys(secret_, greeted.nonces, state_.name(), greeted.end);
  }

  void deliver(int peer, const Introduction& introduction, Greeted& greeted) {
    begun_.insert({peer, introduction.lane});
    state_.inbox(introduction.lane)
        .put({peer, introduction.count, release(greeted.socket), keys_of(greeted)});
  }

  void add_control(int peer, Greeted greeted) {
    keep_alive(greeted.socket);
    state_.set_address(peer, greeted.socket.remote_endpoint().address().to_string());
    auto& connection = controls_[static_cast<std::size_t>(peer)];
    // A peer that did not hear our welcome in time has given up the first one.
    const bool is_new = connection == nullptr;
    if (!is_new) connection->close();
    connection = std::make_shared<ControlConnection>(
        std::move(greeted.socket), keys_of(greeted),
        ControlConnection::Handlers{[this, peer](const Control& control) { hear(peer, control); },
                                    [this, peer](const std::string& how) {
                                      state_.note_lost(peer, how);
                                      wake_waiting();
                                    }});
    connection->start();
    if (!is_new) return;
    const std::lock_guard lock(mutex_);
    ++present_;
    reasons_[static_cast<std::size_t>(peer)] = "connected";
    changed_.notify_all();
  }

  void hear(int peer, const Control& control) {
    switch (control.kind) {
      case ControlKind::abort: {
        const bool is_rank = control.number < static_cast<std::uint32_t>(state_.size());
        state_.note_abort(is_rank ? static_cast<int>(control.number) : peer, control.text);
        wake_waiting();
        break;
      }
      case ControlKind::heartbeat: state_.note_heartbeat(); break;
      case ControlKind::goodbye: state_.note_left(peer); break;
      case ControlKind::wish:
        if (state_.rank() < peer) connect(peer, control.lane);
        break;
      case ControlKind::mismatch: note_mismatch(control); break;
    }
  }

  void wake_waiting() {
    const std::lock_guard lock(mutex_);  // nobody is between looking and going to sleep
    changed_.notify_all();
  }

  void note_reason(int peer, std::string reason) {
    const std::lock_guard lock(mutex_);
    reasons_[static_cast<std::size_t>(peer)] = std::move(reason);
  }

  [[noreturn]] void throw_missing() {
    std::string missing;
    const std::lock_guard lock(mutex_);
    for (int peer = 0; peer < state_.size(); ++peer) {
      const std::string& reason = reasons_[static_cast<std::size_t>(peer)];
      if (peer == state_.rank() || reason == "connected") continue;
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : "; ", state_.describe(peer),
                             reason.empty() ? "it has not connected" : reason);
    }
    throw Error(ErrorCode::timeout,
                fmt::format("group {}: no tcp connection between rank {} and: {}; is a firewall "
                            "between the hosts, or does MUSTER_INTERFACE have to name the network "
                            "that joins them?",
                            state_.name(), state_.rank(), missing));
  }

  GroupState& state_;
  const Secret secret_;
  const Introducer introducer_;
  const bool encrypts_;
  const int sockets_;
  bool is_leaving_ = false;
  std::vector<Tcp::endpoint> addresses_;  // [size] where a higher rank answered
  std::set<std::pair<int, int>> begun_;   // (peer, lane) that are connected or about to be
  std::array<std::optional<Control>, Communicator::kMaxLanes>
      mismatches_;  // the first of each lane

  std::mutex mutex_;  // guards what follows, up to the context
  std::condition_variable changed_;
  int present_ = 0;
  std::vector<std::string> reasons_;  // [size] why a peer is not there yet, or "connected"

  asio::io_context context_{1};  // destroys coroutines, which use what stands above
  std::vector<std::shared_ptr<ControlConnection>> controls_;  // [size]
  Doorman doorman_;
  std::jthread thread_;
};

Service::Service(const Setup& setup) : impl_(std::make_unique<Impl>(setup)) {}
Service::~Service() = default;

std::vector<Endpoint> Service::endpoints() const {
  return impl_->endpoints();
}

void Service::call(int peer, const std::vector<Endpoint>& candidates) {
  impl_->call(peer, candidates);
}

void Service::await_everyone(Deadline deadline) {
  impl_->await_everyone(deadline);
}

void Service::connect(int peer, int lane) {
  impl_->post([impl = impl_.get(), peer, lane] { impl->connect(peer, lane); });
}

void Service::tell_everyone(const Control& control) {
  impl_->post([impl = impl_.get(), control] { impl->tell_everyone(control); });
}

void Service::tell_mismatch(const Control& control) {
  impl_->post([impl = impl_.get(), control] {
    impl->tell_everyone(control);
    impl->note_mismatch(control);
  });
}

}  // namespace muster::collectives::tcp
