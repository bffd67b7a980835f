#include "collectives/bootstrap/tcp_store_server.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "collectives/bootstrap/store_session.hpp"
#include "collectives/net/asio.hpp"
#include "collectives/net/fd.hpp"
#include "collectives/net/interfaces.hpp"
#include "collectives/net/resolve.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStrangersShare{500};  // what every stranger has, even in a flood
constexpr milliseconds kPause{50};
constexpr int kPortAttempts = 8;

Tcp::acceptor listen_on(asio::io_context& context, const Tcp::endpoint& address) {
  Tcp::acceptor acceptor(context);
  acceptor.open(address.protocol());
  close_on_exec(acceptor.native_handle());
  acceptor.set_option(Tcp::acceptor::reuse_address(true));
  if (address.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true));
  acceptor.bind(address);
  acceptor.listen();
  return acceptor;
}

/// Listens on all of `addresses` with one port; those this host does not have are left out and
/// explained in `reasons`. Empty when the port is taken on one of them.
std::vector<Tcp::acceptor> listen_on_all(asio::io_context& context,
                                         const std::vector<Tcp::endpoint>& addresses,
                                         std::string& reasons) {
  std::vector<Tcp::acceptor> acceptors;
  for (Tcp::endpoint address : addresses) {
    if (!acceptors.empty()) address.port(acceptors.front().local_endpoint().port());
    try {
      acceptors.push_back(listen_on(context, address));
    } catch (const boost::system::system_error& error) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(address),
                             error.code().message());
      if (error.code() != asio::error::address_in_use &&
          error.code() != boost::system::errc::address_not_available &&
          error.code() != boost::system::errc::address_family_not_supported) {
        throw;
      }
      if (error.code() == asio::error::address_in_use) return {};
    }
  }
  return acceptors;
}

std::vector<Tcp::acceptor> listen(asio::io_context& context, const StoreServerOptions& options) {
  const Endpoint& where = options.listen;
  const std::string& wish = options.interfaces;
  const std::vector<Interface> all = list_interfaces();
  const std::vector<Tcp::endpoint> addresses =
      addresses_to_serve(where, resolve(where), wish.empty() ? all : choose_interfaces(wish, all));
  std::string reasons;
  for (int attempt = 0; attempt < (where.port == 0 ? kPortAttempts : 1); ++attempt) {
    reasons.clear();
    auto acceptors = listen_on_all(context, addresses, reasons);
    if (!acceptors.empty()) return acceptors;
  }
  throw Error(ErrorCode::io,
              fmt::format("the store cannot listen on {} ({})", to_string(where), reasons));
}

}  // namespace

class TcpStoreServer::Impl {
 public:
  Impl(const Secret& secret, const StoreServerOptions& options)
      : options_(options), service_{secret, options.handshake_limit_s, {}} {
    acceptors_ = listen(context_, options);
    const Tcp::endpoint first = acceptors_.front().local_endpoint();
    endpoint_ = {first.address().to_string(), first.port()};
    for (Tcp::acceptor& acceptor : acceptors_) {
      asio::co_spawn(context_, accept(acceptor), asio::detached);
    }
    thread_ = std::jthread([this] { run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    context_.stop();
    thread_.join();
  }

  const Endpoint& endpoint() const noexcept { return endpoint_; }

 private:
  using Strangers = std::list<std::shared_ptr<StoreConnection>>;

  void run() noexcept {
    try {
      context_.run();
    } catch (const std::exception& error) {
      log_error(fmt::format("store: stopped: reason=\"{}\"", error.what()));
    }
  }

  asio::awaitable<void> accept(Tcp::acceptor& acceptor) {
    while (true) {
      ErrorStatus status;
      co_await make_room();
      Tcp::socket socket =
          co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, status));
      if (status) {  // out of descriptors, or the client has gone again
        log_debug(fmt::format("store: accept failed: reason=\"{}\"", status.message()));
        co_await pause();
      } else {
        start_session(std::move(socket));
      }
    }
  }

  asio::awaitable<void> pause() {
    asio::steady_timer timer(context_, kPause);
    co_await timer.async_wait(asio::use_awaitable);
  }

  asio::awaitable<void> make_room() {
    while (strangers_.size() >= options_.max_strangers) {
      StoreConnection& oldest = *strangers_.front();
      if (Deadline::Clock::now() - oldest.since >= kStrangersShare) oldest.close();
      co_await pause();
    }
  }

  void start_session(Tcp::socket socket) {
    ErrorStatus status;
    const Tcp::endpoint peer = socket.remote_endpoint(status);
    if (status) return;  // gone already
    close_on_exec(socket.native_handle());
    socket.set_option(Tcp::no_delay(true), status);
    auto client = std::make_shared<StoreConnection>(std::move(socket), to_string(peer));
    const auto place = strangers_.insert(strangers_.end(), client);
    asio::co_spawn(context_, session(std::move(client), place), asio::detached);
  }

  asio::awaitable<void> session(std::shared_ptr<StoreConnection> client,
                                Strangers::iterator place) {
    const bool is_known = co_await greet(client, service_);
    strangers_.erase(place);
    if (is_known) co_await serve(client, service_);
    client->close();
  }

  StoreServerOptions options_;
  Endpoint endpoint_;
  StoreService service_;
  asio::io_context context_{1};  // destroys the sessions' coroutines, which use what stands above
  std::vector<Tcp::acceptor> acceptors_;
  Strangers strangers_;
  std::jthread thread_;
};

TcpStoreServer::TcpStoreServer(const Secret& secret, const StoreServerOptions& options)
    : impl_(std::make_unique<Impl>(secret, options)) {}
TcpStoreServer::~TcpStoreServer() = default;

const Endpoint& TcpStoreServer::endpoint() const noexcept {
  return impl_->endpoint();
}

}  // namespace muster::collectives
