#include "collectives/tcp/link.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {
namespace {

// With one connection a message needs no cutting but for the width of the field.
constexpr std::uint64_t kWholeMessage = std::uint64_t{1} << 30;
// With several, small enough that all get a share and the slowest delays the end by little.
constexpr std::uint64_t kChunk = std::uint64_t{256} << 10;
// System calls in one direction before the other has its turn.
constexpr int kTurns = 2;

}  // namespace

void Link::add(Arrival arrival) {
  expected_streams_ = arrival.count;
  streams_.emplace_back(std::move(arrival.socket), arrival.keys);
}

bool Link::has_ended() const noexcept {
  return std::ranges::any_of(streams_, [this](const Stream& stream) {
    return (stream.has_ended() && !receives_.is_empty()) ||
           (stream.is_broken() && !sends_.is_empty());
  });
}

void Link::post_send(Transport::Ticket ticket, const Signature& signature,
                     std::span<const std::byte> data) {
  sends_.push({ticket, signature, data});
}

void Link::post_receive(Transport::Ticket ticket, const Signature& signature,
                        std::span<std::byte> data) {
  receives_.push({ticket, signature, data});
}

bool Link::progress() {
  bool has_moved = push_all();
  for (Stream& stream : streams_) {
    for (int turn = 0; turn < kTurns && pull(stream); ++turn) has_moved = true;
  }
  return has_moved;
}

bool Link::push_all() {
  if (sends_.is_empty()) return false;
  bool has_moved = false;
  for (Stream& stream : streams_) {
    for (int turn = 0; turn < kTurns && push(stream); ++turn) has_moved = true;
  }
  return has_moved;
}

bool Link::push(Stream& stream) {
  if (stream.is_free() && !assign(stream)) return false;
  const bool has_moved = stream.push();
  if (stream.is_free()) note_sent(stream.sent());
  return has_moved;
}

// Gives the connection the next chunk, if there is one.
bool Link::assign(Stream& stream) {
  if (!sends_.has(next_to_assign_)) return false;
  Sending& message = sends_.at(next_to_assign_);
  const std::uint64_t most = expected_streams_ == 1 ? kWholeMessage : kChunk;
  Frame frame{.signature = message.signature,
              .number = next_to_assign_,
              .offset = message.assigned,
              .length = message.data.size()};
  frame.bytes = static_cast<std::uint32_t>(std::min(most, frame.length - frame.offset));
  stream.start(frame, message.data.subspan(frame.offset, frame.bytes));
  message.assigned += frame.bytes;
  if (message.assigned == frame.length) ++next_to_assign_;
  return true;
}

void Link::note_sent(const Frame& frame) {
  Sending& message = sends_.at(frame.number);
  message.sent += frame.bytes;
  message.is_done = message.sent == frame.length;
  if (!message.is_done) return;
  book_.close(message.ticket);
  while (!sends_.is_empty() && sends_.at(sends_.first()).is_done) sends_.pop();
}

bool Link::pull(Stream& stream) {
  if (receives_.is_empty() || stream.has_ended()) return false;
  if (stream.frame()) return pull_chunk(stream);
  if (!stream.pull_head(guess())) return false;
  if (stream.is_garbage()) {
    throw Error(ErrorCode::peer_lost, "it sends what is no frame of this protocol");
  }
  if (stream.frame()) pull_chunk(stream);
  return true;
}

// Where the body of the next chunk goes, as far as that is certain before its head is read: with
// one connection messages come in order.
std::span<std::byte> Link::guess() noexcept {
  if (expected_streams_ != 1) return {};
  const Receiving& message = receives_.at(receives_.first());
  return message.data.subspan(message.received);
}

bool Link::pull_chunk(Stream& stream) {
  const Frame frame = *stream.frame();
  if (is_held_up(stream)) return false;
  check(stream);
  Receiving& message = receives_.at(frame.number);
  bool has_moved = false;
  if (stream.received() < frame.bytes) {
    has_moved = stream.pull_body(message.data.subspan(frame.offset, frame.bytes));
  }
  if (stream.received() < frame.bytes) return has_moved;
  stream.finish();
  note_received(frame);
  return true;
}

// The message at the head of this connection is one that nobody has asked for yet. On a single
// connection nothing is read before it is asked for.
bool Link::is_held_up(const Stream& stream) const noexcept {
  return expected_streams_ > 1 && stream.frame() && stream.frame()->number >= receives_.end();
}

void Link::check(const Stream& stream) const {
  const Frame& frame = *stream.frame();
  bool is_in_turn = receives_.has(frame.number) && !receives_.at(frame.number).is_done;
  if (is_in_turn) {
    const Receiving& message = receives_.at(frame.number);
    if (message.signature != frame.signature || message.data.size() != frame.length) {
      Frame mine = frame;
      mine.signature = message.signature;
      mine.length = message.data.size();
      throw Mismatch{frame, mine};
    }
    is_in_turn = stream.received() <= frame.bytes &&
                 (expected_streams_ > 1 || frame.offset == message.received);
  }
  if (is_in_turn && (expected_streams_ > 1 || frame.number == receives_.first())) return;
  throw Error(ErrorCode::peer_lost, fmt::format("it sends message {} from byte {} out of turn",
                                                frame.number, frame.offset));
}

void Link::note_received(const Frame& frame) {
  Receiving& message = receives_.at(frame.number);
  message.received += frame.bytes;
  message.is_done = message.received == message.data.size();
  if (!message.is_done) return;
  book_.close(message.ticket);
  while (!receives_.is_empty() && receives_.at(receives_.first()).is_done) receives_.pop();
}

std::optional<Frame> Link::peek_unasked() {
  if (!receives_.is_empty()) return std::nullopt;
  for (Stream& stream : streams_) {
    if (auto frame = stream.peek()) return frame;
  }
  return std::nullopt;
}

void Link::add_polls(std::vector<pollfd>& polls) const {
  for (const Stream& stream : streams_) {
    // What waits for a receive that nobody has posted would wake us for nothing.
    const bool reads = !receives_.is_empty() && !is_held_up(stream) && !stream.has_ended();
    const bool writes = (!stream.is_free() || sends_.has(next_to_assign_)) && !stream.is_broken();
    const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
    if (events != 0) polls.push_back({stream.fd(), static_cast<short>(events), 0});
  }
}

std::string Link::describe_missing() const {
  const auto describe = [](std::string_view verb, const auto& queue, auto moved) {
    std::uint64_t done = 0;
    std::uint64_t all = 0;
    for (std::uint64_t number = queue.first(); number < queue.end(); ++number) {
      done += queue.at(number).*moved;
      all += queue.at(number).data.size();
    }
    return fmt::format("{} {} of {} bytes", verb, done, all);
  };
  std::string text;
  if (!receives_.is_empty()) text = describe("received", receives_, &Receiving::received);
  if (!sends_.is_empty()) {
    text += text.empty() ? "" : ", ";
    text += describe("sent", sends_, &Sending::sent);
  }
  return text;
}

}  // namespace muster::collectives::tcp
