#include "collectives/tcp/frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "collectives/communicator.hpp"

namespace muster::collectives::tcp {
namespace {

static_assert(std::endian::native == std::endian::little,
              "frames are copied as they lie in memory");

constexpr std::uint32_t kDataMagic = 0xD47A'F5A3;
constexpr std::uint32_t kControlMagic = 0xC0DE'7A1C;

// A frame as it lies on the wire: no padding.
struct WireFrame {
  std::uint32_t magic;
  std::uint32_t bytes;
  std::uint64_t word;
  std::int64_t count;
  std::uint64_t number;
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(WireFrame) == kFrameBytes);

struct WireHead {
  std::uint32_t magic;
  std::uint8_t kind;
  std::uint8_t lane;
  std::uint16_t text_bytes;
  std::uint32_t number;
};
static_assert(sizeof(WireHead) == kControlHeadBytes);

}  // namespace

FrameBytes encode(const Frame& frame) noexcept {
  return std::bit_cast<FrameBytes>(WireFrame{kDataMagic, frame.bytes, frame.signature.word,
                                             frame.signature.count, frame.number, frame.offset,
                                             frame.length});
}

std::optional<Frame> decode(const FrameBytes& bytes) noexcept {
  const auto wire = std::bit_cast<WireFrame>(bytes);
  const bool is_inside = wire.offset <= wire.length && wire.bytes <= wire.length - wire.offset;
  if (wire.magic != kDataMagic || !is_inside) return std::nullopt;
  Frame frame;
  frame.signature.word = wire.word;
  frame.signature.count = wire.count;
  frame.number = wire.number;
  frame.offset = wire.offset;
  frame.length = wire.length;
  frame.bytes = wire.bytes;
  return frame;
}

std::string encode(const Control& control) {
  const std::size_t text_bytes = std::min(control.text.size(), kMaxControlText);
  const WireHead head{kControlMagic, static_cast<std::uint8_t>(control.kind),
                      static_cast<std::uint8_t>(control.lane),
                      static_cast<std::uint16_t>(text_bytes), control.number};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  return bytes.append(control.text, 0, text_bytes);
}

std::optional<DecodedHead> decode(const ControlHead& head) noexcept {
  const auto wire = std::bit_cast<WireHead>(head);
  const bool is_sound = wire.magic == kControlMagic &&
                        wire.kind <= static_cast<std::uint8_t>(ControlKind::mismatch) &&
                        wire.lane < Communicator::kMaxLanes && wire.text_bytes <= kMaxControlText;
  if (!is_sound) return std::nullopt;
  return DecodedHead{{static_cast<ControlKind>(wire.kind), wire.lane, {}, wire.number},
                     wire.text_bytes};
}

}  // namespace muster::collectives::tcp
