#include "collectives/bootstrap/store_protocol.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

constexpr std::size_t kNumberBytes = 8;

void put_number(std::vector<std::byte>& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xFFU));
  }
}

void put_text(std::vector<std::byte>& out, std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

/// Takes fields off the front of a message; every length is compared with what is there.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const auto field = take(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::to_integer<std::uint64_t>(field[i]) << (8 * i);
    }
    return value;
  }
  std::string text(std::size_t bytes) {
    const auto field = take(bytes);
    return {reinterpret_cast<const char*>(field.data()), field.size()};
  }
  std::string rest() { return text(rest_.size()); }
  void end() const {
    if (!rest_.empty()) fail(fmt::format("{} bytes too many", rest_.size()));
  }
  [[noreturn]] static void fail(std::string_view problem) {
    throw Error(ErrorCode::io, fmt::format("malformed store message: {}", problem));
  }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > rest_.size()) {
      fail(fmt::format("a field of {} bytes where {} are left", bytes, rest_.size()));
    }
    const auto field = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return field;
  }

  std::span<const std::byte> rest_;
};

}  // namespace

void check_store_call(std::string_view key, std::size_t value_bytes) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("store key \"{}\" has {} bytes; 1 to {} are allowed", key.substr(0, 64),
                            key.size(), kMaxKeyBytes));
  }
  if (value_bytes > kMaxValueBytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("store key \"{}\": a value of {} bytes; the limit is {}", key,
                            value_bytes, kMaxValueBytes));
  }
}

std::vector<std::byte> encode(const StoreRequest& request) {
  std::vector<std::byte> out;
  out.reserve(request.key.size() + request.value.size() + 3 + kNumberBytes);
  put_number(out, static_cast<std::uint64_t>(request.op), 1);
  put_number(out, request.key.size(), 2);
  put_text(out, request.key);
  if (request.op == StoreOp::set) {
    put_text(out, request.value);
  } else {
    put_number(out, static_cast<std::uint64_t>(request.number), kNumberBytes);
  }
  return out;
}

std::vector<std::byte> encode(StoreOp op, const StoreResponse& response) {
  std::vector<std::byte> out;
  out.reserve(response.value.size() + 1 + kNumberBytes);
  put_number(out, static_cast<std::uint64_t>(response.status), 1);
  if (op == StoreOp::add && response.status == StoreStatus::ok) {
    put_number(out, static_cast<std::uint64_t>(response.number), kNumberBytes);
  } else {
    put_text(out, response.value);
  }
  return out;
}

StoreRequest decode_request(std::span<const std::byte> bytes) {
  Fields fields(bytes);
  StoreRequest request;
  const std::uint64_t op = fields.number(1);
  if (op < 1 || op > 3) Fields::fail(fmt::format("operation {}", op));
  request.op = static_cast<StoreOp>(op);
  request.key = fields.text(fields.number(2));
  if (request.op == StoreOp::set) {
    request.value = fields.rest();
  } else {
    request.number = static_cast<std::int64_t>(fields.number(kNumberBytes));
    fields.end();
  }
  if (request.key.empty() || request.key.size() > kMaxKeyBytes) {
    Fields::fail(fmt::format("a key of {} bytes", request.key.size()));
  }
  if (request.value.size() > kMaxValueBytes) {
    Fields::fail(fmt::format("a value of {} bytes", request.value.size()));
  }
  return request;
}

StoreResponse decode_response(StoreOp op, std::span<const std::byte> bytes) {
  Fields fields(bytes);
  StoreResponse response;
  const std::uint64_t status = fields.number(1);
  if (status < 1 || status > 3) Fields::fail(fmt::format("status {}", status));
  response.status = static_cast<StoreStatus>(status);
  if (op == StoreOp::add && response.status == StoreStatus::ok) {
    response.number = static_cast<std::int64_t>(fields.number(kNumberBytes));
    fields.end();
  } else {
    response.value = fields.rest();
  }
  return response;
}

}  // namespace muster::collectives
