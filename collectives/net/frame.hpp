#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/net/socket.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// A frame is a little-endian u32 length and that many bytes.
inline constexpr std::size_t kFrameHeaderBytes = 4;
using FrameHeader = std::array<std::byte, kFrameHeaderBytes>;

/// Error(invalid_argument) if the payload does not fit the length field.
FrameHeader frame_header(std::size_t payload_bytes);

/// The length that a header announces, checked before anyone allocates that much: Error(io) names
/// length, limit and `peer`.
std::size_t frame_payload_bytes(const FrameHeader& header, std::size_t limit,
                                std::string_view peer);

void send_frame(Socket& socket, std::span<const std::byte> payload, Deadline deadline);
std::vector<std::byte> receive_frame(Socket& socket, std::size_t limit, Deadline deadline);

}  // namespace muster::collectives
