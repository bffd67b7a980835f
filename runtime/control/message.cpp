#include "runtime/control/message.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

constexpr auto kLastCode = static_cast<std::uint8_t>(ErrorCode::internal);

// Both ends run on one host and one build, so numbers travel as they lie in memory.
void put_bytes(std::vector<std::byte>& out, const void* from, std::size_t bytes) {
  const std::size_t end = out.size();
  out.resize(end + bytes);
  if (bytes > 0) std::memcpy(&out[end], from, bytes);
}

template <typename Number>
void put(std::vector<std::byte>& out, const Number& number) {
  static_assert(std::is_trivially_copyable_v<Number>);
  put_bytes(out, &number, sizeof(Number));
}

void put_text(std::vector<std::byte>& out, std::string_view text) {
  put_bytes(out, text.data(), std::min(text.size(), kMaxMessageText));
}

template <typename Number>
Number take(std::span<const std::byte>& bytes) {
  if (bytes.size() < sizeof(Number)) {
    throw Error(ErrorCode::io, fmt::format("malformed control message: a field of {} bytes where "
                                           "{} are left",
                                           sizeof(Number), bytes.size()));
  }
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(Number));
  bytes = bytes.subspan(sizeof(Number));
  return number;
}

std::string take_text(std::span<const std::byte>& bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes = {};
  return text;
}

struct Writer {
  std::vector<std::byte>& out;

  void operator()(const ProgressMessage& message) const {
    const auto bytes = encode_progress(message);
    out.assign(bytes.begin(), bytes.end());
  }
  void operator()(const LinesMessage& message) const { put_text(out, message.text); }
  void operator()(const FailingMessage& message) const {
    put(out, static_cast<std::uint8_t>(message.code));
    put(out, message.at_ns);
    put_text(out, message.cause);
  }
  void operator()(const FinishedMessage&) const {}
  void operator()(const StopMessage&) const {}
  void operator()(const AbortMessage& message) const { put_text(out, message.reason); }
};

ProgressMessage take_progress(std::span<const std::byte>& bytes) {
  ProgressMessage message;
  message.progress = take<Progress>(bytes);
  message.is_due = take<std::uint8_t>(bytes) != 0;
  return message;
}

FailingMessage take_failing(std::span<const std::byte>& bytes) {
  FailingMessage message;
  const auto code = take<std::uint8_t>(bytes);
  if (code > kLastCode) {
    throw Error(ErrorCode::io, fmt::format("malformed control message: error code {}", code));
  }
  message.code = static_cast<ErrorCode>(code);
  message.at_ns = take<std::int64_t>(bytes);
  message.cause = take_text(bytes);
  return message;
}

Message take_message(std::uint8_t kind, std::span<const std::byte>& bytes) {
  switch (kind) {
    case 0: return take_progress(bytes);
    case 1: return LinesMessage{take_text(bytes)};
    case 2: return take_failing(bytes);
    case 3: return FinishedMessage{};
    case 4: return StopMessage{};
    case 5: return AbortMessage{take_text(bytes)};
    default: throw Error(ErrorCode::io, fmt::format("malformed control message: kind {}", kind));
  }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  std::vector<std::byte> out;
  put(out, static_cast<std::uint8_t>(message.index()));
  std::visit(Writer{out}, message);
  return out;
}

std::array<std::byte, kProgressMessageBytes> encode_progress(
    const ProgressMessage& message) noexcept {
  static_assert(std::is_same_v<std::variant_alternative_t<0, Message>, ProgressMessage>);
  std::array<std::byte, kProgressMessageBytes> bytes{};  // the first byte is the kind, 0
  std::memcpy(&bytes[1], &message.progress, sizeof(Progress));
  bytes.back() = static_cast<std::byte>(message.is_due);
  return bytes;
}

Message decode(std::span<const std::byte> bytes) {
  const auto kind = take<std::uint8_t>(bytes);
  Message message = take_message(kind, bytes);
  if (!bytes.empty()) {
    throw Error(ErrorCode::io,
                fmt::format("malformed control message: {} bytes too many", bytes.size()));
  }
  return message;
}

}  // namespace muster::runtime
