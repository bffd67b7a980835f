#include "collectives/net/frame.hpp"

#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {

FrameHeader frame_header(std::size_t payload_bytes) {
  if (payload_bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a frame of {} bytes: the limit is 4 GiB - 1", payload_bytes));
  }
  FrameHeader header;
  for (std::size_t i = 0; i < header.size(); ++i) {
    header[i] = static_cast<std::byte>((payload_bytes >> (8 * i)) & 0xFFU);
  }
  return header;
}

std::size_t frame_payload_bytes(const FrameHeader& header, std::size_t limit,
                                std::string_view peer) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    bytes |= std::to_integer<std::size_t>(header[i]) << (8 * i);
  }
  if (bytes > limit) {
    throw Error(ErrorCode::io, fmt::format("{} announced a frame of {} bytes; the limit is {}",
                                           peer, bytes, limit));
  }
  return bytes;
}

void send_frame(Socket& socket, std::span<const std::byte> payload, Deadline deadline) {
  socket.send(frame_header(payload.size()), payload, deadline);
}

std::vector<std::byte> receive_frame(Socket& socket, std::size_t limit, Deadline deadline) {
  FrameHeader header;
  socket.receive(header, deadline);
  std::vector<std::byte> payload(frame_payload_bytes(header, limit, socket.peer()));
  socket.receive(payload, deadline);
  return payload;
}

}  // namespace muster::collectives
