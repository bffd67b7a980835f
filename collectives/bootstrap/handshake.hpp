#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "collectives/bootstrap/secret.hpp"

namespace muster::collectives {

/// How both ends of a connection prove that they know the job's secret before any command, without
/// sending it. Messages have fixed sizes, so nothing a stranger sends is ever used as a length.
///
///   client -> server   hello     magic and version (8), nonce c (32)
///   server -> client   challenge nonce s (32), HMAC("server", c, s)
///   client -> server   answer    accepted (1), HMAC("client", c, s)
///   server -> client   welcome   accepted (1)
///
/// The two labels differ, so that neither proof can be reflected; fresh nonces make a replay
/// useless. A client that finds the server's proof wrong answers with accepted = 0 and no proof,
/// so that the server can say so too.
inline constexpr std::size_t kMagicBytes = 8;
using Magic = std::span<const std::byte, kMagicBytes>;
using Nonce = std::array<std::byte, 32>;
using Hello = std::array<std::byte, 40>;
using Challenge = std::array<std::byte, 64>;
using Answer = std::array<std::byte, 33>;
using Welcome = std::array<std::byte, 1>;

class ClientHandshake {
 public:
  explicit ClientHandshake(const Secret& secret);

  Hello hello() const noexcept;
  /// The answer to a challenge; is_server_known() then says whether its proof was right.
  Answer answer(const Challenge& challenge);
  bool is_server_known() const noexcept { return is_server_known_; }

 private:
  Secret secret_;
  Nonce nonce_;
  bool is_server_known_ = false;
};

enum class Verdict { accepted, client_refused, wrong_secret };

class ServerHandshake {
 public:
  explicit ServerHandshake(const Secret& secret);

  /// False if a connection that begins like this is some other program's.
  static bool is_hello(Magic first) noexcept;
  Challenge challenge(const Hello& hello);
  Verdict check(const Answer& answer) const;

 private:
  Secret secret_;
  Nonce client_nonce_{};
  Nonce nonce_;
};

inline constexpr Welcome kWelcome = {std::byte{1}};
inline constexpr Welcome kRefusal = {std::byte{0}};

}  // namespace muster::collectives
