#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "collectives/tcp/seal.hpp"

namespace muster::collectives::tcp {

/// What a sealed data connection has between its socket and its chunks: a record that is being sent
/// and those that are being received. Its memory is allocated when it is made. One thread at a
/// time.
///
/// Nothing of a record is given out before the whole of it is there and has proved right.
class RecordPipe {
 public:
  /// Text of one record at most: so short that sealing, sending and opening find it in the cache.
  static constexpr std::size_t kMostText = std::size_t{64} << 10;

  explicit RecordPipe(const ConnectionKeys& keys);

  /// No record is being sent.
  bool is_flushed() const noexcept { return out_begin_ == out_end_; }
  /// Seals one text in two parts, of which it takes kMostText at most: how much it took. Only when
  /// is_flushed().
  std::size_t seal(std::span<const std::byte> first, std::span<const std::byte> second);
  /// As ::send for what is left of the record, of which it takes what was sent.
  std::ptrdiff_t flush(int socket) noexcept;

  /// As ::recv, text only: -1 with EAGAIN while no record is there whole, and with EBADMSG once
  /// is_forged().
  std::ptrdiff_t read(int socket, std::span<std::byte> to);
  /// As read() with MSG_PEEK.
  std::ptrdiff_t peek(int socket, std::span<std::byte> to);
  /// A record came that the peer did not seal next; its number from 0.
  bool is_forged() const noexcept { return is_forged_; }
  std::uint64_t records_opened() const noexcept { return records_opened_; }

 private:
  std::ptrdiff_t fill(int socket);
  bool open_next();

  static constexpr std::size_t kOutBytes = kMostText + kSealBytes;
  static constexpr std::size_t kInBytes = 4 * kOutBytes;

  Sealer sealer_;
  Opener opener_;
  std::unique_ptr<std::byte[]> out_;  // [kOutBytes]
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  std::unique_ptr<std::byte[]> in_;  // [kInBytes] text, then what follows it, sealed still
  std::span<std::byte> text_;        // what is left of the record that was opened last
  std::size_t in_begin_ = 0;         // where the records begin that are sealed
  std::size_t in_end_ = 0;
  bool is_forged_ = false;
  std::uint64_t records_opened_ = 0;
};

}  // namespace muster::collectives::tcp
