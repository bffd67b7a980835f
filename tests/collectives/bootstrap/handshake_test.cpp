#include "collectives/bootstrap/handshake.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::collectives {
namespace {

TEST(Handshake, AcceptsBothSidesWithOneSecret) {
  const Secret secret = Secret::random();
  ClientHandshake client(secret);
  ServerHandshake server(secret);

  const Answer answer = client.answer(server.challenge(client.hello()));

  EXPECT_TRUE(client.is_server_known());
  EXPECT_EQ(server.check(answer), Verdict::accepted);
}

TEST(Handshake, LetsTheClientRefuseAServerOfAnotherJob) {
  ClientHandshake client(Secret::random());
  ServerHandshake server(Secret::random());

  const Answer answer = client.answer(server.challenge(client.hello()));

  EXPECT_FALSE(client.is_server_known());
  EXPECT_EQ(server.check(answer), Verdict::client_refused);
  EXPECT_TRUE(std::all_of(answer.begin(), answer.end(), [](std::byte b) {
    return b == std::byte{0};
  })) << "nothing computed from the secret may reach a stranger";
}

TEST(Handshake, RefusesAProofMadeWithAnotherSecret) {
  const Secret secret = Secret::random();
  ServerHandshake server(secret);
  ServerHandshake impostor_view(Secret::random());
  ClientHandshake impostor(Secret::random());
  server.challenge(impostor.hello());
  const Challenge own = impostor_view.challenge(impostor.hello());

  Answer answer = impostor.answer(own);
  answer[0] = std::byte{1};

  EXPECT_EQ(server.check(answer), Verdict::wrong_secret);
}

TEST(Handshake, RefusesTheServersOwnProofReflected) {
  ServerHandshake server(Secret::random());
  const ClientHandshake stranger(Secret::random());
  const Challenge challenge = server.challenge(stranger.hello());

  Answer reflected{};
  reflected[0] = std::byte{1};
  std::copy(challenge.begin() + 32, challenge.end(), reflected.begin() + 1);

  EXPECT_EQ(server.check(reflected), Verdict::wrong_secret);
}

TEST(Handshake, RefusesAReplayedAnswer) {
  const Secret secret = Secret::random();
  ClientHandshake client(secret);
  ServerHandshake first(secret);
  const Answer recorded = client.answer(first.challenge(client.hello()));
  ASSERT_EQ(first.check(recorded), Verdict::accepted);

  ServerHandshake second(secret);
  second.challenge(client.hello());

  EXPECT_EQ(second.check(recorded), Verdict::wrong_secret);
}

std::array<std::byte, kMagicBytes> magic_of(const Hello& hello) {
  std::array<std::byte, kMagicBytes> magic;
  std::copy_n(hello.begin(), magic.size(), magic.begin());
  return magic;
}

TEST(Handshake, KnowsAHelloFromOtherProtocols) {
  const ClientHandshake client(Secret::random());
  Hello http{};
  constexpr char kRequest[] = "GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n";
  std::transform(kRequest, kRequest + sizeof(kRequest) - 1, http.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  Hello other_version = client.hello();
  other_version[7] = std::byte{2};

  EXPECT_TRUE(ServerHandshake::is_hello(magic_of(client.hello())));
  EXPECT_FALSE(ServerHandshake::is_hello(magic_of(http)));
  EXPECT_FALSE(ServerHandshake::is_hello(magic_of(other_version)));
}

}  // namespace
}  // namespace muster::collectives
