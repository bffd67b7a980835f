// What is read off a connection whose other end is not known yet: the hello, the challenge, the
// answer and the introduction. No input may be let in, since the fuzzer does not know the secret;
// and what it damages in a true exchange must be seen.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/tcp/introduction.hpp"

namespace muster::collectives {
namespace {

using Bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

const Secret& secret() {
  static const Secret known = Secret::from_hex(std::string(64, 'a'), "the fuzzer's secret");
  return known;
}

/// Takes the next bytes of the input; zeros where it has ended.
template <typename Message>
Message take(Bytes& input) {
  Message message{};
  const std::size_t bytes = std::min(input.size(), message.size());
  std::copy_n(input.begin(), bytes, message.begin());
  input = input.subspan(bytes);
  return message;
}

/// Flips bits as the input says; true if any was.
template <typename Message>
bool damage(Message& message, Bytes& input) {
  bool is_damaged = false;
  for (std::byte& byte : message) {
    if (input.empty()) break;
    byte ^= input.front();
    is_damaged = is_damaged || input.front() != std::byte{0};
    input = input.subspan(1);
  }
  return is_damaged;
}

void be_server(Bytes input) {
  ServerHandshake server(secret());
  const auto hello = take<Hello>(input);
  static_cast<void>(ServerHandshake::is_hello(std::span(hello).first<kMagicBytes>()));
  static_cast<void>(server.challenge(hello));
  require(server.check(take<Answer>(input)) != Verdict::accepted);
}

void be_client(Bytes input) {
  ClientHandshake client(secret());
  const Answer answer = client.answer(take<Challenge>(input));
  require(!client.is_server_known());
  require(std::ranges::all_of(answer, [](std::byte b) { return b == std::byte{0}; }));
}

/// A true exchange, of which the input changes the answer.
void damage_answer(Bytes input) {
  ClientHandshake client(secret());
  ServerHandshake server(secret());
  Answer answer = client.answer(server.challenge(client.hello()));
  const bool is_damaged = damage(answer, input);
  require((server.check(answer) == Verdict::accepted) != is_damaged);
}

/// A true introduction, of which the input chooses the numbers and changes the bytes.
void damage_introduction(Bytes input) {
  const tcp::Introducer introducer(secret(), "group");
  const auto numbers = take<std::array<std::byte, 5>>(input);
  const auto number = [&](std::size_t i) {
    return static_cast<int>(static_cast<signed char>(numbers[i]));
  };
  const tcp::Introduction said{number(0), number(1), number(2) & 255, number(3), number(4)};
  const auto challenge = take<Challenge>(input);
  tcp::IntroductionBytes bytes = introducer.seal(said, challenge);
  const bool is_damaged = damage(bytes, input);
  const auto opened = introducer.open(bytes, challenge);
  require(!opened || (!is_damaged && *opened == said));
  if (!opened) return;
  require(opened->from >= 0 && opened->to >= 0 && opened->count >= 1 && opened->index >= 0);
  require(opened->count <= tcp::kMaxSockets && opened->index < opened->count);
}

}  // namespace
}  // namespace muster::collectives

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::collectives;
  const auto input = std::as_bytes(std::span(data, size));
  if (input.empty()) return 0;
  const Bytes rest = input.subspan(1);
  switch (std::to_integer<int>(input[0]) % 4) {
    case 0: be_server(rest); break;
    case 1: be_client(rest); break;
    case 2: damage_answer(rest); break;
    default: damage_introduction(rest); break;
  }
  return 0;
}
