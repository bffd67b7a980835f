#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "collectives/net/fd.hpp"
#include "collectives/tcp/frame.hpp"
#include "collectives/tcp/record_pipe.hpp"

namespace muster::collectives::tcp {

/// One data connection: a non-blocking socket with the chunk that it is sending and the one that it
/// is receiving. Calls return what the kernel takes or has at this moment. Errors, of an encrypted
/// connection: peer_lost for a record that its peer did not send next. One thread at a time.
class Stream {
 public:
  /// Encrypted if there are keys.
  Stream(Fd socket, const std::optional<ConnectionKeys>& keys);

  int fd() const noexcept { return socket_.number(); }
  /// The connection is closed or reset, and all that had come before was read.
  bool has_ended() const noexcept { return has_ended_; }
  /// The peer takes no more; what it sent before can still be read.
  bool is_broken() const noexcept { return is_broken_; }

  /// No chunk is being sent.
  bool is_free() const noexcept {
    return header_left_ == 0 && body_.empty() && (pipe_ == nullptr || pipe_->is_flushed());
  }
  /// Begins to send a chunk, whose bytes stay where they are until is_free().
  void start(const Frame& frame, std::span<const std::byte> body) noexcept;
  /// Sends what there is room for. True if anything moved.
  bool push();
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
  bool pull_head(std::span<std::byte> guess);
  bool is_garbage() const noexcept { return is_garbage_; }
  /// The next head, which stays where it is; nothing if it is not there whole.
  std::optional<Frame> peek();
  /// Reads on in a chunk's body, which lies in `chunk` [frame()->bytes].
  bool pull_body(std::span<std::byte> chunk);
  /// The chunk is dealt with: the next head may come.
  void finish() noexcept;

 private:
  /// What a system call moved; 0 when it would have waited or the connection has ended.
  std::size_t judge(std::ptrdiff_t result, bool is_read) noexcept;

  bool push_short() noexcept;
  bool push_sealed();
  bool pull_sealed_head();
  /// As judge(): head and body in one go.
  std::size_t receive(std::span<std::byte> head, std::span<std::byte> body) noexcept;
  std::size_t receive_short(std::span<std::byte> head, std::span<std::byte> body) noexcept;
  void take(std::size_t bytes) noexcept;
  std::size_t read_sealed(std::span<std::byte> to);

  Fd socket_;
  std::unique_ptr<RecordPipe> pipe_;  // nothing if the connection is not encrypted
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
