#include "collectives/tcp/record_pipe.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace muster::collectives::tcp {

RecordPipe::RecordPipe(const ConnectionKeys& keys)
    : sealer_(keys.send),
      opener_(keys.receive),
      out_(std::make_unique<std::byte[]>(kOutBytes)),
      in_(std::make_unique<std::byte[]>(kInBytes)) {}

std::size_t RecordPipe::seal(std::span<const std::byte> first, std::span<const std::byte> second) {
  const std::size_t of_second = std::min(second.size(), kMostText - first.size());
  out_begin_ = 0;
  out_end_ = first.size() + of_second + kSealBytes;
  sealer_.seal(first, second.first(of_second), {out_.get(), out_end_});
  return first.size() + of_second;
}

std::ptrdiff_t RecordPipe::flush(int socket) noexcept {
  const std::ptrdiff_t sent =
      ::send(socket, out_.get() + out_begin_, out_end_ - out_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) out_begin_ += static_cast<std::size_t>(sent);
  return sent;
}

std::ptrdiff_t RecordPipe::read(int socket, std::span<std::byte> to) {
  const std::ptrdiff_t there = peek(socket, to);
  if (there > 0) text_ = text_.subspan(static_cast<std::size_t>(there));
  return there;
}

std::ptrdiff_t RecordPipe::peek(int socket, std::span<std::byte> to) {
  if (text_.empty()) {
    const std::ptrdiff_t filled = fill(socket);
    if (filled <= 0) return filled;
  }
  const std::size_t bytes = std::min(to.size(), text_.size());
  std::memcpy(to.data(), text_.data(), bytes);
  return static_cast<std::ptrdiff_t>(bytes);
}

// Opens the next record, once it is there. 1, or what ::recv said.
std::ptrdiff_t RecordPipe::fill(int socket) {
  while (!open_next()) {
    if (is_forged_) {
      errno = EBADMSG;
      return -1;
    }
    const std::ptrdiff_t came =
        ::recv(socket, in_.get() + in_end_, kInBytes - in_end_, MSG_DONTWAIT);
    if (came <= 0) return came;
    in_end_ += static_cast<std::size_t>(came);
  }
  return 1;
}

// Otherwise makes room for the rest of it.
bool RecordPipe::open_next() {
  if (is_forged_) return false;
  const std::size_t there = in_end_ - in_begin_;
  std::byte* const record = in_.get() + in_begin_;
  if (there >= kRecordHeadBytes) {
    const std::size_t bytes = text_bytes({record, kRecordHeadBytes});
    is_forged_ = bytes == 0 || bytes > kMostText;
    if (is_forged_) return false;
    if (there >= bytes + kSealBytes) {
      const auto text = opener_.open({record, bytes + kSealBytes});
      is_forged_ = !text;
      if (is_forged_) return false;
      text_ = *text;
      in_begin_ += bytes + kSealBytes;
      ++records_opened_;
      return true;
    }
  }
  if (there == 0 || kInBytes - in_begin_ < kOutBytes) {
    std::memmove(in_.get(), record, there);
    in_begin_ = 0;
    in_end_ = there;
  }
  return false;
}

}  // namespace muster::collectives::tcp
