#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/signature.hpp"

/// What travels over the connections of a group, once both ends know each other. Everything is
/// little-endian.
namespace muster::collectives::tcp {

/// The head of a chunk: a piece of a message on a data connection, followed by `bytes` bytes of it.
///
///   magic (4) | bytes (4) | signature word (8) | count (8) | number (8) | offset (8) | length (8)
struct Frame {
  Signature signature;       // of the call that the message belongs to
  std::uint64_t number = 0;  // of the message, from 0, per lane, sender and receiver
  std::uint64_t offset = 0;  // where in the message the chunk begins
  std::uint64_t length = 0;  // of the whole message
  std::uint32_t bytes = 0;   // of the chunk

  bool operator==(const Frame&) const = default;
};
inline constexpr std::size_t kFrameBytes = 48;
using FrameBytes = std::array<std::byte, kFrameBytes>;

FrameBytes encode(const Frame& frame) noexcept;
/// Nothing if these bytes head no chunk: the magic differs, or the chunk lies outside its message.
std::optional<Frame> decode(const FrameBytes& bytes) noexcept;

/// A word between two ranks on their control connection, whatever the data connections do.
///
///   magic (4) | kind (1) | lane (1) | text bytes (2) | number (4) | text
enum class ControlKind : std::uint8_t {
  abort,      // the group has ended; text: why
  heartbeat,  // the sender lives and is busy
  goodbye,    // the sender leaves in good order
  wish,       // the sender needs data connections for this lane
  mismatch,   // the calls of this lane differ; text: the message of the error
};
struct Control {
  ControlKind kind = ControlKind::heartbeat;
  int lane = 0;
  std::string text = {};
  /// abort: the rank that began it, since a rank that leaves passes it on. mismatch: the sequence
  /// of the call that differs.
  std::uint32_t number = 0;

  bool operator==(const Control&) const = default;
};
inline constexpr std::size_t kControlHeadBytes = 12;
inline constexpr std::size_t kMaxControlText = 1024;
using ControlHead = std::array<std::byte, kControlHeadBytes>;

/// The whole frame; text beyond kMaxControlText is cut off.
std::string encode(const Control& control);

struct DecodedHead {
  Control control;  // without its text
  std::size_t text_bytes = 0;
};
/// Nothing if these bytes head no control frame: magic, kind, lane or length is none of ours.
std::optional<DecodedHead> decode(const ControlHead& head) noexcept;

}  // namespace muster::collectives::tcp
