#include "collectives/tcp/stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <sys/uio.h>

namespace muster::collectives::tcp {
namespace {

// Bytes per system call: enough to make its cost small, few enough to serve both directions.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

std::size_t Stream::judge(std::ptrdiff_t result, bool is_read) noexcept {
  if (result > 0) return static_cast<std::size_t>(result);
  const bool is_end = result == 0 ? is_read
                                  : errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR &&
                                        errno != ENOBUFS && errno != ENOMEM;
  // A failed write is no end yet: what the peer sent before it closed can still be read.
  if (is_end) (is_read ? has_ended_ : is_broken_) = true;
  return 0;
}

void Stream::start(const Frame& frame, std::span<const std::byte> body) noexcept {
  sent_ = frame;
  header_ = encode(frame);
  header_left_ = header_.size();
  body_ = body;
}

bool Stream::push() noexcept {
  std::array<iovec, 2> parts{};
  parts[0] = {header_.data() + (header_.size() - header_left_), header_left_};
  // The kernel does not write to what it sends.
  parts[1] = {const_cast<std::byte*>(body_.data()), std::min(body_.size(), kMostBytes)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const std::size_t moved =
      judge(::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT), false);
  const std::size_t of_header = std::min(moved, header_left_);
  header_left_ -= of_header;
  body_ = body_.subspan(moved - of_header);
  return moved > 0;
}

bool Stream::pull_head(std::span<std::byte> guess) noexcept {
  std::array<iovec, 2> parts{};
  parts[0] = {head_.data() + head_have_, head_.size() - head_have_};
  parts[1] = {guess.data(), std::min(guess.size(), kMostBytes)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = guess.empty() ? 1 : 2;
  const std::size_t moved = judge(::recvmsg(socket_.number(), &message, MSG_DONTWAIT), true);
  const std::size_t of_head = std::min(moved, parts[0].iov_len);
  head_have_ += of_head;
  if (moved > 0 && head_have_ == head_.size()) {
    frame_ = decode(head_);
    received_ = moved - of_head;
    is_garbage_ = !frame_;
  }
  return moved > 0;
}

std::optional<Frame> Stream::peek() const noexcept {
  if (frame_ || head_have_ > 0) return frame_;
  FrameBytes head{};
  const ssize_t there = ::recv(socket_.number(), head.data(), head.size(), MSG_DONTWAIT | MSG_PEEK);
  if (there != static_cast<ssize_t>(head.size())) return std::nullopt;
  return decode(head);
}

bool Stream::pull_body(std::span<std::byte> chunk) noexcept {
  const std::span<std::byte> rest = chunk.subspan(received_);
  const std::size_t moved = judge(
      ::recv(socket_.number(), rest.data(), std::min(rest.size(), kMostBytes), MSG_DONTWAIT), true);
  received_ += moved;
  return moved > 0;
}

void Stream::finish() noexcept {
  frame_.reset();
  head_have_ = 0;
  received_ = 0;
}

}  // namespace muster::collectives::tcp
