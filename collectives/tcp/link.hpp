#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "collectives/tcp/fifo.hpp"
#include "collectives/tcp/inbox.hpp"
#include "collectives/tcp/stream.hpp"
#include "collectives/tcp/ticket_book.hpp"

namespace muster::collectives::tcp {

/// A message whose receiver is in another call, or expects another length.
struct Mismatch {
  Frame theirs;  // what came
  Frame mine;    // what was to come
};

/// What one lane exchanges with one peer, over all of their data connections.
///
/// A message is cut into chunks, which go to whichever connection has room; the receiver puts each
/// where its offset says. On one connection chunks lie in the order of their messages, so a
/// connection that is held up by a message that nobody has asked for yet has nothing for earlier
/// ones. Such a message waits in the connection, whose buffers bound what a sender can be ahead.
///
/// One thread at a time.
class Link {
 public:
  explicit Link(TicketBook& book) : book_(book) {}

  void add(Arrival arrival);
  bool is_connected() const noexcept { return !streams_.empty(); }
  /// What is left cannot be moved, because a connection has ended.
  bool has_ended() const noexcept;

  void post_send(Transport::Ticket ticket, const Signature& signature,
                 std::span<const std::byte> data);
  void post_receive(Transport::Ticket ticket, const Signature& signature,
                    std::span<std::byte> data);
  /// Nothing is left to send or to receive.
  bool is_idle() const noexcept { return sends_.is_empty() && receives_.is_empty(); }

  bool awaits_message() const noexcept { return !receives_.is_empty(); }

  /// Moves what can be moved now. True if anything was. Errors: peer_lost for what is no frame.
  /// Throws a Mismatch.
  bool progress();
  /// The part of progress() that sends.
  bool push_all();
  /// The head of a chunk that has come and that nobody has asked for, if no receive is posted.
  std::optional<Frame> peek_unasked();
  /// What to wait for before progress() can move more.
  void add_polls(std::vector<pollfd>& polls) const;

  /// "receives 4 of 400 bytes, sends 0 of 400 bytes": of all messages posted.
  std::string describe_missing() const;

 private:
  struct Sending {
    Transport::Ticket ticket;
    Signature signature;
    std::span<const std::byte> data;
    std::uint64_t assigned = 0;  // bytes given to a connection
    std::uint64_t sent = 0;
    bool is_done = false;
  };
  struct Receiving {
    Transport::Ticket ticket;
    Signature signature;
    std::span<std::byte> data;
    std::uint64_t received = 0;
    bool is_done = false;
  };

  bool push(Stream& stream);
  bool pull(Stream& stream);
  bool pull_chunk(Stream& stream);
  bool assign(Stream& stream);
  void note_sent(const Frame& frame);
  void note_received(const Frame& frame);
  std::span<std::byte> guess() noexcept;
  bool is_held_up(const Stream& stream) const noexcept;
  void check(const Stream& stream) const;

  TicketBook& book_;
  std::vector<Stream> streams_;
  int expected_streams_ = 1;
  Fifo<Sending> sends_;
  std::uint64_t next_to_assign_ = 0;  // number of the first message not yet given out whole
  Fifo<Receiving> receives_;
};

}  // namespace muster::collectives::tcp
