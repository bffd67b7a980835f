#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/bootstrap/store.hpp"
#include "collectives/net/asio.hpp"
#include "collectives/tcp/door.hpp"
#include "collectives/tcp/introduction.hpp"

namespace muster::collectives::tcp {

/// Somebody between the ranks, through whom all connections to one of them go. He hears everything
/// and may change what the connecting rank says after its introduction.
class Eavesdropper {
 public:
  /// What he sends on instead of these bytes of a data connection; `offset` counts from the first
  /// byte after the introduction. Nothing: he hangs up.
  using Tamper = std::function<std::optional<std::string>(std::string bytes, std::size_t offset)>;

  Eavesdropper(const Endpoint& rank, Tamper tamper)
      : rank_(asio::ip::make_address(rank.host), rank.port), tamper_(std::move(tamper)) {
    thread_ = std::jthread([this] {
      accept();
      context_.run();
    });
  }
  Eavesdropper(const Eavesdropper&) = delete;
  Eavesdropper& operator=(const Eavesdropper&) = delete;
  ~Eavesdropper() {
    context_.stop();
    thread_.join();
  }

  Endpoint endpoint() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  /// All that was said so far, both ways.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  static constexpr std::size_t kLaneAt = sizeof(Hello) + sizeof(Answer) + 2 * sizeof(std::int32_t);
  static constexpr std::size_t kIntroduced = sizeof(Hello) + sizeof(Answer) + kIntroductionBytes;

  struct Pair {
    explicit Pair(Tcp::socket accepted) : near(std::move(accepted)), far(near.get_executor()) {}
    Tcp::socket near;
    Tcp::socket far;
    std::string said;  // by the connecting rank
  };

  void accept() {
    acceptor_.async_accept([this](const ErrorStatus& status, Tcp::socket socket) {
      if (status) return;
      const auto pair = std::make_shared<Pair>(std::move(socket));
      pair->far.connect(rank_);
      carry(pair, pair->near, pair->far, true);
      carry(pair, pair->far, pair->near, false);
      accept();
    });
  }

  void carry(const std::shared_ptr<Pair>& pair, Tcp::socket& from, Tcp::socket& to,
             bool is_outgoing) {
    auto buffer = std::make_shared<std::string>(4096, '\0');
    from.async_read_some(
        asio::buffer(*buffer), [=, this, &from, &to](const ErrorStatus& status, std::size_t bytes) {
          if (pass_on(*pair, to, status ? std::string() : buffer->substr(0, bytes), is_outgoing)) {
            return carry(pair, from, to, is_outgoing);
          }
          ErrorStatus ignored;  // the other end may have closed already
          pair->near.close(ignored);
          pair->far.close(ignored);
        });
  }

  // False at the end of the connection.
  bool pass_on(Pair& pair, Tcp::socket& to, std::string bytes, bool is_outgoing) {
    if (bytes.empty()) return false;
    {
      const std::lock_guard lock(mutex_);
      heard_ += bytes;
    }
    std::optional<std::string> words = std::move(bytes);
    if (is_outgoing) words = changed(pair, std::move(*words));
    ErrorStatus status;
    if (words) asio::write(to, asio::buffer(*words), status);
    return words && !status;
  }

  std::optional<std::string> changed(Pair& pair, std::string text) const {
    const std::size_t before = pair.said.size();
    pair.said += text;
    const bool is_data = pair.said.size() > kIntroduced &&
                         static_cast<unsigned char>(pair.said[kLaneAt]) != Introduction::kControl;
    if (!is_data || before < kIntroduced) return text;
    return tamper_(std::move(text), before - kIntroduced);
  }

  const Tcp::endpoint rank_;
  const Tamper tamper_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_{context_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  mutable std::mutex mutex_;  // guards heard_
  std::string heard_;
  std::jthread thread_;
};

/// A store in which rank 1 of group "test" lives behind an eavesdropper.
class BuggedStore final : public Store {
 public:
  BuggedStore(Store& inner, Eavesdropper::Tamper tamper)
      : inner_(inner), tamper_(std::move(tamper)) {}

  void set(std::string_view key, std::string_view value) override {
    if (key != "comm/test/1/tcp") return inner_.set(key, value);
    Door door = decode_door(value, "rank 1");
    const std::lock_guard lock(mutex_);
    eavesdropper_ = std::make_unique<Eavesdropper>(door.endpoints.front(), tamper_);
    door.endpoints = {eavesdropper_->endpoint()};
    inner_.set(key, encode(door));
  }
  std::string get(std::string_view key, Deadline deadline) override {
    return inner_.get(key, deadline);
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    return inner_.add(key, delta);
  }
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return eavesdropper_->heard();
  }

 private:
  Store& inner_;
  const Eavesdropper::Tamper tamper_;
  mutable std::mutex mutex_;  // guards eavesdropper_
  std::unique_ptr<Eavesdropper> eavesdropper_;
};

}  // namespace muster::collectives::tcp
