#include "tests/support/local_fabric.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/seconds.hpp"

namespace muster::collectives {
namespace {

using Clock = Deadline::Clock;

std::size_t index(int number) {
  return static_cast<std::size_t>(number);
}

/// One lane's end on one rank.
class Wire final : public Transport, public LocalWire {
 public:
  Wire(std::shared_ptr<LocalHub> hub, int rank, int lane)
      : hub_(std::move(hub)), rank_(rank), lane_(lane) {
    const std::scoped_lock lock(hub_->mutex);
    open_.reserve(64);
    hub_->set_wire(lane, rank, this);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() override {
    const std::scoped_lock lock(hub_->mutex);
    withdraw();
    hub_->set_wire(lane_, rank_, nullptr);
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return hub_->size; }

  void begin(const Signature& signature, const CallOptions& options, Deadline deadline) override;
  Ticket send(int to, std::span<const std::byte> data) override;
  Ticket receive(int from, std::span<std::byte> data) override;
  void wait(Ticket ticket) override;
  void wait_all() override {
    while (!open_.empty()) wait(open_.front().ticket);
  }

  // The mutex is held in all below.
  void finish(Ticket ticket, Clock::time_point at) override;
  void wake() override { changed_.notify_all(); }
  bool is_in_another_call(const Signature& signature) const override;
  const Signature& signature() const noexcept override { return signature_; }

 private:
  struct Open {
    Ticket ticket;
    int peer;
    std::size_t bytes;
    std::optional<Clock::time_point> done_at = {};
  };

  void throw_if_hopeless(int peer);
  void withdraw();
  Deadline deadline_for(int peer) const;
  std::string describe_call() const;
  std::string ranks_not_here() const;

  std::shared_ptr<LocalHub> hub_;
  int rank_;
  int lane_;
  std::condition_variable changed_;
  Signature signature_;
  CallOptions options_;
  Deadline deadline_ = Deadline::never();
  bool has_begun_ = false;
  std::vector<Open> open_;
  Ticket last_ticket_ = 0;
};

void Wire::begin(const Signature& signature, const CallOptions& options, Deadline deadline) {
  const std::scoped_lock lock(hub_->mutex);
  MUSTER_ASSERT(open_.empty() || signature.kind() == CallKind::send_receive);
  signature_ = signature;
  options_ = options;
  deadline_ = deadline;
  has_begun_ = true;
  hub_->begun(lane_, rank_) = signature.sequence();
  for (int peer = 0; peer < size() && !hub_->mismatch; ++peer) {
    const auto& sends = hub_->direction(lane_, peer, rank_).sends;
    if (sends.empty() || !is_in_another_call(sends.front().signature)) continue;
    const RankedSignature mine{rank_, signature_};
    const RankedSignature theirs{peer, sends.front().signature};
    hub_->mismatch = signature_mismatch(hub_->group, lane_, peer < rank_ ? theirs : mine,
                                        peer < rank_ ? mine : theirs);
    hub_->wake_all();
  }
  throw_if_hopeless(rank_);
}

// Messages of this very call are of one signature, and none of an earlier call can be left over.
bool Wire::is_in_another_call(const Signature& signature) const {
  const bool is_one_of_group = signature.kind() != CallKind::send_receive &&
                               signature_.kind() != CallKind::send_receive && has_begun_;
  return is_one_of_group && signature.sequence() <= signature_.sequence() &&
         signature != signature_;
}

Transport::Ticket Wire::send(int to, std::span<const std::byte> data) {
  const std::scoped_lock lock(hub_->mutex);
  LocalRank& self = hub_->ranks[index(rank_)];
  if (self.messages_to_live-- <= 0) {
    self.is_dead = true;
    hub_->wake_all();
  }
  throw_if_hopeless(rank_);
  self.sent.messages += 1;
  self.sent.bytes += static_cast<std::int64_t>(data.size());
  open_.push_back({++last_ticket_, to, data.size()});
  if (self.loses_next[index(to)]) {
    self.loses_next[index(to)] = false;
    finish(last_ticket_, Clock::now());
    return last_ticket_;
  }
  // Only match() uses the pointer, and reads.
  auto* const bytes = const_cast<std::byte*>(data.data());  // NOLINT(*-const-cast)
  LocalPost post{last_ticket_, signature_, bytes, data.size()};
  if (std::byte* const room = hub_->take_room(data.size())) {
    post.data = std::copy(data.begin(), data.end(), room) - data.size();
    post.is_kept = true;
    finish(last_ticket_, Clock::now());
  }
  hub_->direction(lane_, rank_, to).sends.push_back(post);
  LocalWire* const peer = hub_->wire(lane_, to);
  if (peer != nullptr && peer->is_in_another_call(signature_) && !hub_->mismatch) {
    const RankedSignature mine{rank_, signature_};
    const RankedSignature theirs{to, peer->signature()};
    hub_->mismatch = signature_mismatch(hub_->group, lane_, to < rank_ ? theirs : mine,
                                        to < rank_ ? mine : theirs);
    hub_->wake_all();
  }
  hub_->match(lane_, rank_, to);
  return last_ticket_;
}

Transport::Ticket Wire::receive(int from, std::span<std::byte> data) {
  const std::scoped_lock lock(hub_->mutex);
  throw_if_hopeless(rank_);
  open_.push_back({++last_ticket_, from, data.size()});
  hub_->direction(lane_, from, rank_)
      .receives.push_back({last_ticket_, signature_, data.data(), data.size()});
  hub_->match(lane_, from, rank_);
  return last_ticket_;
}

void Wire::wait(Ticket ticket) {
  std::unique_lock lock(hub_->mutex);
  const Clock::time_point start = Clock::now();
  for (;;) {
    const auto message = std::find_if(open_.begin(), open_.end(),
                                      [=](const Open& open) { return open.ticket == ticket; });
    if (message == open_.end()) return;
    const Clock::time_point now = Clock::now();
    if (message->done_at && *message->done_at <= now) {
      open_.erase(message);
      return;
    }
    throw_if_hopeless(message->peer);
    const Deadline deadline = deadline_for(message->peer);
    if (deadline.has_passed()) {
      const std::string text = fmt::format(
          "{} waited {:.1f} s (limit {} s) for {} bytes between rank {} and rank {}; not there "
          "yet: {}; see what they are busy with, or raise the limit",
          describe_call(), std::chrono::duration<double>(now - start).count(), options_.timeout_s,
          message->bytes, rank_, message->peer, ranks_not_here());
      withdraw();
      throw Error(ErrorCode::timeout, text);
    }
    const Clock::time_point until = now + deadline.remaining();
    changed_.wait_until(lock, message->done_at ? std::min(until, *message->done_at) : until);
  }
}

void Wire::finish(Ticket ticket, Clock::time_point at) {
  const auto message = std::find_if(open_.begin(), open_.end(),
                                    [=](const Open& open) { return open.ticket == ticket; });
  message->done_at = at;
  wake();
}

// What the rank waits for may have happened before; only then is the rest of no concern.
void Wire::throw_if_hopeless(int peer) {
  std::optional<Error> error = hub_->mismatch;
  const auto lost = [&](int rank, std::string_view how) {
    if (error) return;
    error = Error(ErrorCode::peer_lost,
                  fmt::format("rank {} {}; this rank was in {}", rank, how, describe_call()));
  };
  if (hub_->aborted) {
    lost(hub_->aborted->by, fmt::format("aborted the group: {}", hub_->aborted->reason));
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (hub_->ranks[index(rank)].is_dead) lost(rank, "has ended");
  }
  if (hub_->ranks[index(peer)].has_left) lost(peer, "has left the group");
  if (!error) return;
  withdraw();
  throw Error(*error);
}

// The caller's memory is its own again once an error has told it so.
void Wire::withdraw() {
  for (int peer = 0; peer < size(); ++peer) {
    hub_->direction(lane_, rank_, peer).sends.clear();
    hub_->direction(lane_, peer, rank_).receives.clear();
  }
  open_.clear();
}

Deadline Wire::deadline_for(int peer) const {
  const Clock::time_point beat = hub_->ranks[index(peer)].last_beat;
  if (beat == Clock::time_point()) return deadline_;
  const Clock::time_point from_beat = beat + duration_of(options_.timeout_s);
  if (deadline_.is_never() || from_beat <= deadline_.when()) return deadline_;
  return Deadline::after(from_beat - Clock::now());
}

std::string Wire::describe_call() const {
  const std::string label =
      options_.label.empty() ? std::string() : fmt::format(" \"{}\"", options_.label);
  return fmt::format("{}{} (group {}, lane {}, seq {})", to_string(signature_), label, hub_->group,
                     lane_, signature_.sequence());
}

std::string Wire::ranks_not_here() const {
  std::string ranks;
  for (int rank = 0; rank < size(); ++rank) {
    const auto& begun = hub_->begun(lane_, rank);
    if (begun && *begun >= signature_.sequence()) continue;
    ranks += fmt::format("{}{}", ranks.empty() ? "rank " : ", ", rank);
  }
  return ranks.empty() ? "nobody, all have come to this call" : ranks;
}

/// One rank's end.
class End final : public Fabric {
 public:
  End(std::shared_ptr<LocalHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() override {
    const std::scoped_lock lock(hub_->mutex);
    hub_->ranks[index(rank_)].has_left = true;
    hub_->wake_all();
  }

  std::string_view name() const noexcept override { return "fabric"; }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return hub_->size; }
  std::string describe(int of_rank) const override {
    return fmt::format("rank {} (a thread)", of_rank);
  }

  std::unique_ptr<Transport> open_lane(int lane) override {
    return std::make_unique<Wire>(hub_, rank_, lane);
  }

  void abort(std::string_view reason) noexcept override {
    const std::scoped_lock lock(hub_->mutex);
    if (!hub_->aborted) hub_->aborted = LocalAbort{rank_, std::string(reason)};
    hub_->wake_all();
  }
  void heartbeat() noexcept override {
    const std::scoped_lock lock(hub_->mutex);
    hub_->ranks[index(rank_)].last_beat = Clock::now();
  }

 private:
  std::shared_ptr<LocalHub> hub_;
  int rank_;
};

}  // namespace

LocalNetwork::LocalNetwork(std::string group, int size, LocalLink link)
    : hub_(std::make_shared<LocalHub>(std::move(group), size, link)) {}

std::unique_ptr<Fabric> LocalNetwork::open(int rank) const {
  return std::make_unique<End>(hub_, rank);
}

void LocalNetwork::kill(int rank) const {
  const std::scoped_lock lock(hub_->mutex);
  hub_->ranks[index(rank)].is_dead = true;
  hub_->wake_all();
}

void LocalNetwork::kill_after(int rank, std::int64_t messages) const {
  const std::scoped_lock lock(hub_->mutex);
  hub_->ranks[index(rank)].messages_to_live = messages;
}

void LocalNetwork::lose_next(int from, int to) const {
  const std::scoped_lock lock(hub_->mutex);
  hub_->ranks[index(from)].loses_next[index(to)] = true;
}

Traffic LocalNetwork::sent_by(int rank) const {
  const std::scoped_lock lock(hub_->mutex);
  return hub_->ranks[index(rank)].sent;
}

}  // namespace muster::collectives
