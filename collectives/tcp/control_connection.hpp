#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "collectives/net/asio.hpp"
#include "collectives/tcp/frame.hpp"
#include "collectives/tcp/seal.hpp"

namespace muster::collectives::tcp {

/// The connection on which two ranks tell each other what concerns the group as a whole. It is made
/// with the group and lives as long as both ranks do: its end is the end of the peer.
///
/// All on the thread of its socket's context. Shared by its coroutines and its owner.
class ControlConnection : public std::enable_shared_from_this<ControlConnection> {
 public:
  struct Handlers {
    std::function<void(const Control&)> received;
    std::function<void(const std::string& how)> ended;
  };

  /// Encrypted if there are keys: each frame is a record.
  ControlConnection(Tcp::socket socket, const std::optional<ConnectionKeys>& keys,
                    Handlers handlers);

  /// Begins to read.
  void start();
  /// Sends after all that was given before.
  void send(const Control& control);
  bool is_sending() const noexcept { return !queue_.empty(); }
  /// No more handlers are called.
  void close() noexcept;

 private:
  asio::awaitable<void> read();
  asio::awaitable<void> read_all();
  asio::awaitable<Control> read_plain();
  asio::awaitable<Control> read_sealed();
  Control open(std::span<std::byte> record);
  asio::awaitable<void> write();

  Tcp::socket socket_;
  Handlers handlers_;
  std::optional<Sealer> sealer_;
  std::optional<Opener> opener_;
  std::array<std::byte, kControlHeadBytes + kMaxControlText + kSealBytes> record_;  // that comes in
  std::deque<std::string> queue_;  // the first one is being written
  bool is_closed_ = false;
};

}  // namespace muster::collectives::tcp
