#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "collectives/net/asio.hpp"
#include "collectives/tcp/introduction.hpp"
#include "collectives/tcp/tcp_socket.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::tcp {

/// Connections that have not proved to know the secret: how many at once, and for how long.
struct StrangerLimits {
  std::size_t most = 64;
  double handshake_s = 5.0;
};

/// Listens for the ranks of a group, and lets nobody else in. Strangers cost a bounded number of
/// places, time and memory: at most `most`, each for at most `handshake_s`; when all places are
/// taken, the oldest is closed once it has had half a second, so that a scan or a flood of
/// half-open connections delays a rank but never keeps it out.
///
/// Runs on the thread of `context`, of which it must be destroyed first.
class Doorman {
 public:
  struct Setup {
    asio::io_context& context;
    Secret secret;
    Introducer introducer;
    int rank;  // who is meant by those who come
    int size;
    StrangerLimits limits;
    std::function<void(const Introduction&, Greeted)> admit;
  };

  /// Listens at once on these numeric addresses, each on a port of its own. Error(io).
  Doorman(Setup setup, const std::vector<std::string>& addresses);
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;
  ~Doorman();

  std::vector<Tcp::endpoint> endpoints() const;
  /// Begins to accept.
  void open();

 private:
  struct Stranger;
  using Strangers = std::list<std::shared_ptr<Stranger>>;

  asio::awaitable<void> accept(Tcp::acceptor& acceptor);
  asio::awaitable<void> pause();
  asio::awaitable<void> make_room();
  asio::awaitable<void> greet(std::shared_ptr<Stranger> stranger, Strangers::iterator place);
  asio::awaitable<Introduction> shake_hands(Stranger& stranger);
  void begin_greeting(Tcp::socket socket);
  void warn(const std::string& text);

  Setup setup_;
  std::vector<Tcp::acceptor> acceptors_;
  Strangers strangers_;
  int warnings_left_ = 20;  // strangers must not be able to fill a log
};

}  // namespace muster::collectives::tcp
