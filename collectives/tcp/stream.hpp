#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "collectives/net/fd.hpp"
#include "collectives/tcp/frame.hpp"

namespace muster::collectives::tcp {

/// One data connection: a non-blocking socket with the chunk that it is sending and the one that it
/// is receiving. Calls return what the kernel takes or has at this moment. One thread at a time.
class Stream {
 public:
  explicit Stream(Fd socket) : socket_(std::move(socket)) {}

  int fd() const noexcept { return socket_.number(); }
  /// The connection is closed or reset, and all that had come before was read.
  bool has_ended() const noexcept { return has_ended_; }
  /// The peer takes no more; what it sent before can still be read.
  bool is_broken() const noexcept { return is_broken_; }

  /// No chunk is being sent.
  bool is_free() const noexcept { return header_left_ == 0 && body_.empty(); }
  /// Begins to send a chunk, whose bytes stay where they are until is_free().
  void start(const Frame& frame, std::span<const std::byte> body) noexcept;
  /// Sends what there is room for. True if anything moved.
  bool push() noexcept;
  /// The chunk that was started last.
  const Frame& sent() const noexcept { return sent_; }

  /// The head of the chunk that is being received, once it is there whole.
  const std::optional<Frame>& frame() const noexcept { return frame_; }
  /// Bytes of it that have been received.
  std::size_t received() const noexcept { return received_; }
  /// Reads on in a chunk's head. `guess` is where its body goes if it is the one that is expected:
  /// what came with the head is placed there already, and counts as received (more than the chunk
  /// has, if it was not the one). True if anything moved. A head that is none leaves frame() empty
  /// and sets is_garbage().
  bool pull_head(std::span<std::byte> guess) noexcept;
  bool is_garbage() const noexcept { return is_garbage_; }
  /// The next head, which stays where it is; nothing if it is not there whole.
  std::optional<Frame> peek() const noexcept;
  /// Reads on in a chunk's body, which lies in `chunk` [frame()->bytes].
  bool pull_body(std::span<std::byte> chunk) noexcept;
  /// The chunk is dealt with: the next head may come.
  void finish() noexcept;

 private:
  /// What a system call moved; 0 when it would have waited or the connection has ended.
  std::size_t judge(std::ptrdiff_t result, bool is_read) noexcept;

  Fd socket_;
  bool has_ended_ = false;
  bool is_broken_ = false;
  bool is_garbage_ = false;

  Frame sent_;
  FrameBytes header_{};
  std::size_t header_left_ = 0;
  std::span<const std::byte> body_;  // what is left of it

  FrameBytes head_{};
  std::size_t head_have_ = 0;
  std::optional<Frame> frame_;
  std::size_t received_ = 0;
};

}  // namespace muster::collectives::tcp
