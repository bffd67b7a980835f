#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/base/error.hpp"
#include "runtime/control/reporter.hpp"

namespace muster::runtime {

/// The state of the run, from rank 0. `is_due`: print it as a whole line where no line is redrawn.
struct ProgressMessage {
  Progress progress;
  bool is_due = false;
};

/// Whole lines for people, without the last newline.
struct LinesMessage {
  std::string text;
};

/// This rank is about to end because of an error. Sent before anything that its peers could notice,
/// so that the first cause is known whoever dies first.
struct FailingMessage {
  ErrorCode code = ErrorCode::internal;
  std::int64_t at_ns = 0;  // on the host's monotonic clock
  std::string cause;       // Error::what()
};

/// This rank has done all its work; an exit with code 0 without this is a failure.
struct FinishedMessage {};

/// From the launcher: stop after this step, save, and leave with kExitStopped.
struct StopMessage {};

/// From the launcher: leave now with kExitPeerLost, because of this.
struct AbortMessage {
  std::string reason;
};

using Message = std::variant<ProgressMessage, LinesMessage, FailingMessage, FinishedMessage,
                             StopMessage, AbortMessage>;

/// Longest text of one message; encode() cuts what is longer.
inline constexpr std::size_t kMaxMessageText = 49152;
/// Longest encoded message.
inline constexpr std::size_t kMaxMessageBytes = kMaxMessageText + 256;

std::vector<std::byte> encode(const Message& message);

/// encode() of a ProgressMessage without the heap, for the step's sake.
inline constexpr std::size_t kProgressMessageBytes = 1 + sizeof(Progress) + 1;
std::array<std::byte, kProgressMessageBytes> encode_progress(
    const ProgressMessage& message) noexcept;

/// Error(io) says what is wrong with the bytes.
Message decode(std::span<const std::byte> bytes);

}  // namespace muster::runtime
