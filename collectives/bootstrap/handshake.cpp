#include "collectives/bootstrap/handshake.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace muster::collectives {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "MUSTER\0\1"sv;  // the last byte is the version
static_assert(kMagic.size() == kMagicBytes);

Digest proof(const Secret& secret, std::string_view role, const Nonce& client,
             const Nonce& server) {
  std::vector<std::byte> message;
  const auto* const label = reinterpret_cast<const std::byte*>(role.data());
  message.insert(message.end(), label, label + role.size());
  message.insert(message.end(), client.begin(), client.end());
  message.insert(message.end(), server.begin(), server.end());
  return hmac_sha256(secret, message);
}

template <typename To>
To part_of(std::span<const std::byte> from, std::size_t offset) {
  To part;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(offset), part.size(), part.begin());
  return part;
}

}  // namespace

ClientHandshake::ClientHandshake(const Secret& secret) : secret_(secret), nonce_{} {
  fill_random(nonce_);
}

Hello ClientHandshake::hello() const noexcept {
  Hello hello;
  const auto after = std::transform(kMagic.begin(), kMagic.end(), hello.begin(),
                                    [](char letter) { return static_cast<std::byte>(letter); });
  std::copy(nonce_.begin(), nonce_.end(), after);
  return hello;
}

Answer ClientHandshake::answer(const Challenge& challenge) {
  const auto server_nonce = part_of<Nonce>(challenge, 0);
  const auto server_proof = part_of<Digest>(challenge, server_nonce.size());
  is_server_known_ = is_equal(server_proof, proof(secret_, "server", nonce_, server_nonce));

  Answer answer{};
  if (is_server_known_) {
    answer[0] = std::byte{1};
    const Digest mine = proof(secret_, "client", nonce_, server_nonce);
    std::copy(mine.begin(), mine.end(), answer.begin() + 1);
  }
  return answer;
}

ServerHandshake::ServerHandshake(const Secret& secret) : secret_(secret), nonce_{} {
  fill_random(nonce_);
}

bool ServerHandshake::is_hello(Magic first) noexcept {
  return std::equal(kMagic.begin(), kMagic.end(), first.begin(),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

Challenge ServerHandshake::challenge(const Hello& hello) {
  client_nonce_ = part_of<Nonce>(hello, kMagicBytes);
  Challenge challenge;
  const Digest mine = proof(secret_, "server", client_nonce_, nonce_);
  std::copy(mine.begin(), mine.end(), std::copy(nonce_.begin(), nonce_.end(), challenge.begin()));
  return challenge;
}

Verdict ServerHandshake::check(const Answer& answer) const {
  if (answer[0] != std::byte{1}) return Verdict::client_refused;
  const bool is_known =
      is_equal(part_of<Digest>(answer, 1), proof(secret_, "client", client_nonce_, nonce_));
  return is_known ? Verdict::accepted : Verdict::wrong_secret;
}

}  // namespace muster::collectives
