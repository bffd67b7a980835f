#include "collectives/tcp/introduction.hpp"

#include <gtest/gtest.h>

namespace muster::collectives::tcp {
namespace {

constexpr Introduction kSound{.from = 3, .to = 5, .lane = 2, .index = 1, .count = 4};

Challenge some_challenge() {
  Challenge challenge;
  challenge.fill(std::byte{7});
  return challenge;
}

TEST(Introducer, OpensWhatItSealed) {
  const Introducer introducer(Secret::random(), "data");

  EXPECT_EQ(introducer.open(introducer.seal(kSound, some_challenge()), some_challenge()), kSound);
}

TEST(Introducer, RefusesAnyFlippedBit) {
  const Introducer introducer(Secret::random(), "data");
  const IntroductionBytes sealed = introducer.seal(kSound, some_challenge());
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    IntroductionBytes bytes = sealed;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(introducer.open(bytes, some_challenge()), std::nullopt) << bit;
  }
}

TEST(Introducer, RefusesAnotherGroupSecretOrConnection) {
  const Secret secret = Secret::random();
  const Introducer introducer(secret, "data");
  const IntroductionBytes sealed = introducer.seal(kSound, some_challenge());
  Challenge other = some_challenge();
  other.back() = std::byte{8};

  EXPECT_EQ(Introducer(secret, "world").open(sealed, some_challenge()), std::nullopt);
  EXPECT_EQ(Introducer(Secret::random(), "data").open(sealed, some_challenge()), std::nullopt);
  EXPECT_EQ(introducer.open(sealed, other), std::nullopt);
}

TEST(Introducer, RefusesNumbersThatNoRankSends) {
  const Introducer introducer(Secret::random(), "data");
  for (const Introduction& wrong :
       {Introduction{-1, 5, 2, 0, 1}, Introduction{3, -17, 2, 0, 1}, Introduction{3, 5, 4, 0, 1},
        Introduction{3, 5, -1, 0, 1}, Introduction{3, 5, 2, 1, 1}, Introduction{3, 5, 2, 0, 9},
        Introduction{3, 5, 2, -1, 1}}) {
    const IntroductionBytes sealed = introducer.seal(wrong, some_challenge());
    EXPECT_EQ(introducer.open(sealed, some_challenge()), std::nullopt);
  }
}

}  // namespace
}  // namespace muster::collectives::tcp
