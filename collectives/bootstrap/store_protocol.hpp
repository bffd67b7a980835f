#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::collectives {

/// What a client of the TCP store asks and what the server answers: the payloads of frames.
///
///   request    op (1), key length (2), key, then: set: the value; get: milliseconds to wait (8);
///              add: delta (8). Numbers are little-endian.
///   response   status (1), then: get: the value; add: the new count (8); refused: the reason.
inline constexpr std::size_t kMaxKeyBytes = 512;
inline constexpr std::size_t kMaxValueBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxFrameBytes = kMaxValueBytes + kMaxKeyBytes + 16;

enum class StoreOp : std::uint8_t { set = 1, get = 2, add = 3 };
enum class StoreStatus : std::uint8_t { ok = 1, timeout = 2, refused = 3 };

struct StoreRequest {
  StoreOp op = StoreOp::get;
  std::string key;
  std::string value;        // set
  std::int64_t number = 0;  // get: milliseconds; add: delta
};

struct StoreResponse {
  StoreStatus status = StoreStatus::ok;
  std::string value;        // get: the value; refused: the reason
  std::int64_t number = 0;  // add
};

/// Error(invalid_argument) names a key or value that is too long or a key that is empty.
void check_store_call(std::string_view key, std::size_t value_bytes);

std::vector<std::byte> encode(const StoreRequest& request);
std::vector<std::byte> encode(StoreOp op, const StoreResponse& response);

/// Error(io) says what is wrong with the bytes.
StoreRequest decode_request(std::span<const std::byte> bytes);
StoreResponse decode_response(StoreOp op, std::span<const std::byte> bytes);

}  // namespace muster::collectives
