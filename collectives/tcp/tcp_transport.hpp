#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "collectives/tcp/group_state.hpp"
#include "collectives/tcp/link.hpp"
#include "collectives/tcp/noted_waits.hpp"
#include "collectives/tcp/patience.hpp"
#include "collectives/tcp/ticket_book.hpp"
#include "collectives/transport/transport.hpp"

namespace muster::collectives::tcp {

/// What a lane asks of the rest of its fabric. Any thread may call these; they do not wait.
struct LaneServices {
  std::function<void(int peer)> connect;  // data connections, once; they come by the inbox
  /// All ranks throw the same once they come to the call of this sequence.
  std::function<void(std::uint32_t sequence, const std::string& text)> tell_mismatch;
};

/// A lane of a TcpFabric: see Transport. A rank has no messages for itself.
class TcpTransport final : public Transport {
 public:
  /// `state` outlives this.
  TcpTransport(GroupState& state, int lane, const WaitPolicy& policy, LaneServices services);

  int rank() const noexcept override { return state_.rank(); }
  int size() const noexcept override { return state_.size(); }
  void begin(const Signature& signature, const CallOptions& options, Deadline deadline) override;
  Ticket send(int to, std::span<const std::byte> data) override;
  Ticket receive(int from, std::span<std::byte> data) override;
  void wait(Ticket ticket) override;
  void wait_all() override;

 private:
  using Clock = Deadline::Clock;

  Link& link_to(int peer);
  void check_usable();
  template <typename Body>
  void guard(Body&& body);
  template <typename IsDone>
  void wait_until(const IsDone& is_done);
  bool progress();
  void take_news();
  void pass_time(Patience& patience);
  void sleep(Clock::time_point now);
  void note_wait(Clock::time_point now);
  void check_deadline(Clock::time_point now);
  /// Throws if the group has ended or a peer that is needed has.
  void check_trouble();
  void check_ended_links();
  void check_inbox();
  /// Than the call under way, in the sequence of the lane.
  bool is_later(std::uint32_t sequence) const noexcept;

  std::string describe_call() const;
  std::string describe_pending() const;
  /// Looks where nothing is expected: ranks that both send, or both receive, meet nowhere else.
  void check_strays();
  /// The two calls of a mismatch are compared where they lie in the sequence, if this rank's is
  /// still known.
  Mismatch in_step(const Mismatch& mismatch) const;
  std::string mismatch_text(int peer, const Mismatch& mismatch) const;
  [[noreturn]] void throw_mismatch(int peer, const Mismatch& mismatch);
  [[noreturn]] void throw_lost(const std::string& how) const;
  [[noreturn]] void throw_timeout() const;

  GroupState& state_;
  const int lane_;
  const WaitPolicy policy_;
  const LaneServices services_;
  TicketBook book_;
  const trace::Text<3> recorded_name_;        // of the group
  std::vector<std::unique_ptr<Link>> links_;  // [size], made when needed
  std::vector<int> busy_;                     // peers with messages under way
  std::vector<char> is_busy_;                 // [size] whether a peer is in busy_
  std::vector<pollfd> polls_;
  NotedWaits waits_;
  std::optional<Error> failure_;  // what every later call throws

  Signature signature_;
  Signature compared_;                          // with those of peers
  std::array<Signature, 2 * kMaxLead> recent_;  // of this rank's calls, by sequence
  CallOptions options_;
  Deadline deadline_ = Deadline::never();
  Clock::time_point begun_;
  std::uint64_t heartbeats_ = 0;
  std::optional<Clock::time_point> ended_since_;  // when a connection was first seen to have ended
};

}  // namespace muster::collectives::tcp
