#include "collectives/tcp/stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {
namespace {

// Bytes per system call: enough to make its cost small, few enough to serve both directions.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
// A head and a body so short go through one buffer: copying them costs less than telling the kernel
// of two.
constexpr std::size_t kShortBytes = 256;
using Short = std::array<std::byte, kShortBytes>;

}  // namespace

Stream::Stream(Fd socket, const std::optional<ConnectionKeys>& keys)
    : socket_(std::move(socket)), pipe_(keys ? std::make_unique<RecordPipe>(*keys) : nullptr) {}

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

// What was given to the kernel, or sealed, is the connection's own.
void Stream::take(std::size_t bytes) noexcept {
  const std::size_t of_header = std::min(bytes, header_left_);
  header_left_ -= of_header;
  body_ = body_.subspan(bytes - of_header);
}

bool Stream::push() {
  if (pipe_ != nullptr) return push_sealed();
  if (header_left_ + body_.size() <= kShortBytes) return push_short();
  std::array<iovec, 2> parts{};
  parts[0] = {header_.data() + (header_.size() - header_left_), header_left_};
  // The kernel does not write to what it sends.
  parts[1] = {const_cast<std::byte*>(body_.data()), std::min(body_.size(), kMostBytes)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const std::size_t moved =
      judge(::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT), false);
  take(moved);
  return moved > 0;
}

bool Stream::push_short() noexcept {
  Short both;
  std::byte* const middle = std::copy_n(header_.end() - static_cast<std::ptrdiff_t>(header_left_),
                                        header_left_, both.data());
  const std::byte* const end = std::copy_n(body_.data(), body_.size(), middle);
  const auto bytes = static_cast<std::size_t>(end - both.data());
  const std::size_t moved =
      judge(::send(socket_.number(), both.data(), bytes, MSG_NOSIGNAL | MSG_DONTWAIT), false);
  take(moved);
  return moved > 0;
}

bool Stream::push_sealed() {
  if (pipe_->is_flushed()) {
    const auto head = std::span<const std::byte>(header_).last(header_left_);
    take(pipe_->seal(head, body_));
  }
  return judge(pipe_->flush(socket_.number()), false) > 0;
}

std::size_t Stream::read_sealed(std::span<std::byte> to) {
  std::size_t moved = 0;
  while (moved < to.size()) {
    const std::size_t more = judge(pipe_->read(socket_.number(), to.subspan(moved)), true);
    if (pipe_->is_forged()) {
      throw Error(ErrorCode::peer_lost,
                  fmt::format("record {} of the encrypted data connection did not open: it was "
                              "changed, repeated, left out or put in on the way",
                              pipe_->records_opened()));
    }
    if (more == 0) break;
    moved += more;
  }
  return moved;
}

bool Stream::pull_head(std::span<std::byte> guess) {
  if (pipe_ != nullptr) return pull_sealed_head();
  const std::span<std::byte> rest = std::span(head_).subspan(head_have_);
  const bool is_short = rest.size() + guess.size() <= kShortBytes;
  const std::size_t moved = is_short ? receive_short(rest, guess) : receive(rest, guess);
  const std::size_t of_head = std::min(moved, rest.size());
  head_have_ += of_head;
  if (moved > 0 && head_have_ == head_.size()) {
    frame_ = decode(head_);
    received_ = moved - of_head;
    is_garbage_ = !frame_;
  }
  return moved > 0;
}

std::size_t Stream::receive(std::span<std::byte> head, std::span<std::byte> body) noexcept {
  std::array<iovec, 2> parts{};
  parts[0] = {head.data(), head.size()};
  parts[1] = {body.data(), std::min(body.size(), kMostBytes)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return judge(::recvmsg(socket_.number(), &message, MSG_DONTWAIT), true);
}

std::size_t Stream::receive_short(std::span<std::byte> head, std::span<std::byte> body) noexcept {
  Short both;
  const std::size_t moved =
      judge(::recv(socket_.number(), both.data(), head.size() + body.size(), MSG_DONTWAIT), true);
  const std::size_t of_head = std::min(moved, head.size());
  std::copy_n(both.data(), of_head, head.data());
  std::copy_n(both.data() + of_head, moved - of_head, body.data());
  return moved;
}

// Its body lies beside it, so there is nothing to guess.
bool Stream::pull_sealed_head() {
  const std::size_t moved = read_sealed(std::span(head_).subspan(head_have_));
  head_have_ += moved;
  if (moved > 0 && head_have_ == head_.size()) {
    frame_ = decode(head_);
    is_garbage_ = !frame_;
  }
  return moved > 0;
}

std::optional<Frame> Stream::peek() {
  if (frame_ || head_have_ > 0) return frame_;
  FrameBytes head{};
  const int fd = socket_.number();
  const std::ptrdiff_t there = pipe_ != nullptr
                                   ? pipe_->peek(fd, head)
                                   : ::recv(fd, head.data(), head.size(), MSG_DONTWAIT | MSG_PEEK);
  if (there != static_cast<std::ptrdiff_t>(head.size())) return std::nullopt;
  return decode(head);
}

bool Stream::pull_body(std::span<std::byte> chunk) {
  const std::span<std::byte> rest = chunk.subspan(received_);
  const std::span<std::byte> now = rest.first(std::min(rest.size(), kMostBytes));
  const std::size_t moved =
      pipe_ != nullptr
          ? read_sealed(now)
          : judge(::recv(socket_.number(), now.data(), now.size(), MSG_DONTWAIT), true);
  received_ += moved;
  return moved > 0;
}

void Stream::finish() noexcept {
  frame_.reset();
  head_have_ = 0;
  received_ = 0;
}

}  // namespace muster::collectives::tcp
