#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/bootstrap/secret.hpp"

namespace muster::collectives::tcp {

/// What a connection is for; said by the one who made it, right after the handshake.
struct Introduction {
  /// The lane of a control connection.
  static constexpr int kControl = 255;

  int from = 0;  // rank that connects
  int to = 0;    // rank it means to reach
  int lane = kControl;
  int index = 0;  // which of the `count` sockets that the two ranks have on this lane
  int count = 1;

  bool operator==(const Introduction&) const = default;
};
inline constexpr int kMaxSockets = 8;  // per peer and lane
inline constexpr std::size_t kIntroductionBytes = 64;
using IntroductionBytes = std::array<std::byte, kIntroductionBytes>;

/// Introductions of one group. Each is sealed with the job's secret over the group's name and the
/// challenge of its own handshake, so that it holds for this group and this connection alone.
class Introducer {
 public:
  Introducer(const Secret& secret, std::string_view group) : secret_(secret), group_(group) {}

  IntroductionBytes seal(const Introduction& introduction, const Challenge& challenge) const;
  /// Nothing if the seal is not right, or the numbers are none that a rank would send.
  std::optional<Introduction> open(const IntroductionBytes& bytes,
                                   const Challenge& challenge) const;

 private:
  Digest digest(std::span<const std::byte> words, const Challenge& challenge) const;

  Secret secret_;
  std::string group_;
};

}  // namespace muster::collectives::tcp
