// Everything that is read off a connection after its handshake: heads of chunks and of control
// frames, the store's frames, requests and answers, and records of an encrypted connection.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "collectives/bootstrap/store_protocol.hpp"
#include "collectives/net/frame.hpp"
#include "collectives/tcp/frame.hpp"
#include "collectives/tcp/record_pipe.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

using Bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The first bytes of the input, zeros where it is too short.
template <typename Head>
Head head_of(Bytes input) {
  Head head{};
  std::copy_n(input.begin(), std::min(input.size(), head.size()), head.begin());
  return head;
}

void read_chunk_head(Bytes input) {
  const auto bytes = head_of<tcp::FrameBytes>(input);
  const auto frame = tcp::decode(bytes);
  if (!frame) return;
  require(frame->offset <= frame->length && frame->bytes <= frame->length - frame->offset);
  require(tcp::encode(*frame) == bytes);
}

void read_control_head(Bytes input) {
  const auto head = head_of<tcp::ControlHead>(input);
  const auto decoded = tcp::decode(head);
  if (!decoded) return;
  require(decoded->text_bytes <= tcp::kMaxControlText);
  tcp::Control whole = decoded->control;
  whole.text.assign(decoded->text_bytes, 'x');
  const std::string encoded = tcp::encode(whole);
  require(encoded.size() == tcp::kControlHeadBytes + decoded->text_bytes);
  require(std::memcmp(encoded.data(), head.data(), head.size()) == 0);
}

template <typename Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const Error&) {  // what the connection is closed for
  }
}

void read_store_frame(Bytes input) {
  const auto header = head_of<FrameHeader>(input);
  read_or_refuse(
      [&] { require(frame_payload_bytes(header, kMaxFrameBytes, "fuzzer") <= kMaxFrameBytes); });
  read_or_refuse([&] {
    const StoreRequest request = decode_request(input);
    require(!request.key.empty() && request.key.size() <= kMaxKeyBytes);
    require(request.value.size() <= kMaxValueBytes);
    require(std::ranges::equal(encode(request), input));
  });
  for (const StoreOp op : {StoreOp::set, StoreOp::get, StoreOp::add}) {
    read_or_refuse([&] { decode_response(op, input); });
  }
}

/// No record can be right: the fuzzer does not know the key.
void read_record(Bytes input) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const ssize_t sent = ::send(ends[0], input.data(), input.size(), 0);
  require(sent == static_cast<ssize_t>(input.size()) || input.empty());
  ::shutdown(ends[0], SHUT_WR);
  static const tcp::ConnectionKeys keys;
  tcp::RecordPipe pipe(keys);
  std::array<std::byte, 256> text{};
  for (int reads = 0; reads < 4; ++reads) require(pipe.read(ends[1], text) <= 0);
  require(pipe.records_opened() == 0);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace muster::collectives

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::collectives;
  const auto input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  // The first byte chooses, so that every reader sees whole inputs of its own.
  const Bytes rest = input.subspan(1);
  switch (std::to_integer<int>(input[0]) % 4) {
    case 0: read_chunk_head(rest); break;
    case 1: read_control_head(rest); break;
    case 2: read_store_frame(rest); break;
    default: read_record(rest); break;
  }
  return 0;
}
