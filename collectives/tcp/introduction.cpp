#include "collectives/tcp/introduction.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace muster::collectives::tcp {
namespace {

constexpr std::size_t kWordBytes = kIntroductionBytes - sizeof(Digest);
using Words = std::array<std::int32_t, kWordBytes / sizeof(std::int32_t)>;

bool is_sound(const Introduction& introduction) {
  const bool is_lane = introduction.lane == Introduction::kControl ||
                       (introduction.lane >= 0 && introduction.lane < Communicator::kMaxLanes);
  return is_lane && introduction.from >= 0 && introduction.to >= 0 && introduction.count >= 1 &&
         introduction.count <= kMaxSockets && introduction.index >= 0 &&
         introduction.index < introduction.count;
}

}  // namespace

Digest Introducer::digest(std::span<const std::byte> words, const Challenge& challenge) const {
  const auto label = std::as_bytes(std::span(std::string_view("introduction ")));
  const auto group = std::as_bytes(std::span(group_));
  std::vector<std::byte> message(label.begin(), label.end());
  message.insert(message.end(), challenge.begin(), challenge.end());
  message.insert(message.end(), words.begin(), words.end());
  message.insert(message.end(), group.begin(), group.end());
  return hmac_sha256(secret_, message);
}

IntroductionBytes Introducer::seal(const Introduction& introduction,
                                   const Challenge& challenge) const {
  const Words words = {introduction.from, introduction.to, introduction.lane, introduction.index,
                       introduction.count};
  const auto plain = std::as_bytes(std::span(words));
  const Digest seal = digest(plain, challenge);
  IntroductionBytes bytes;
  std::ranges::copy(seal, std::ranges::copy(plain, bytes.begin()).out);
  return bytes;
}

std::optional<Introduction> Introducer::open(const IntroductionBytes& bytes,
                                             const Challenge& challenge) const {
  std::array<std::byte, kWordBytes> plain;
  Digest seal;
  std::copy_n(bytes.begin(), plain.size(), plain.begin());
  std::copy_n(bytes.begin() + kWordBytes, seal.size(), seal.begin());
  if (!is_equal(seal, digest(plain, challenge))) return std::nullopt;
  const auto words = std::bit_cast<Words>(plain);
  const Introduction introduction{words[0], words[1], words[2], words[3], words[4]};
  if (!is_sound(introduction)) return std::nullopt;
  return introduction;
}

}  // namespace muster::collectives::tcp
