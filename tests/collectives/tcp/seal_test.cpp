#include "collectives/tcp/seal.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "collectives/tcp/record_pipe.hpp"

namespace muster::collectives::tcp {
namespace {

using Bytes = std::vector<std::byte>;

Secret secret() {
  return Secret::from_hex(std::string(64, 'a'), "the tests' secret");
}

Nonces nonces(int client, int server) {
  Nonces both{};
  both.client.fill(static_cast<std::byte>(client));
  both.server.fill(static_cast<std::byte>(server));
  return both;
}

Bytes sealed(Sealer& sealer, const std::string& text) {
  Bytes record(text.size() + kSealBytes);
  const auto bytes = std::as_bytes(std::span(text));
  sealer.seal(bytes.first(text.size() / 2), bytes.subspan(text.size() / 2), record);
  return record;
}

std::string opened(Opener& opener, Bytes record) {
  const auto text = opener.open(record);
  if (!text) return "(nothing)";
  return {reinterpret_cast<const char*>(text->data()), text->size()};
}

class Seal : public testing::Test {
 protected:
  ConnectionKeys client_ = derive_keys(secret(), nonces(1, 2), "test", End::client);
  ConnectionKeys server_ = derive_keys(secret(), nonces(1, 2), "test", End::server);
};

TEST_F(Seal, OpensAtTheOtherEndInOrder) {
  Sealer sealer(client_.send);
  Opener opener(server_.receive);

  for (const std::string& text : {std::string("a"), std::string(100'000, 'x'), std::string()}) {
    EXPECT_EQ(opened(opener, sealed(sealer, text)), text);
  }
}

TEST_F(Seal, HasOtherKeysPerDirectionConnectionGroupAndSecret) {
  const Secret other = Secret::from_hex(std::string(64, 'b'), "another secret");

  EXPECT_EQ(client_.send.key, server_.receive.key);
  EXPECT_EQ(client_.receive.iv, server_.send.iv);
  EXPECT_NE(client_.send.key, client_.receive.key);
  for (const ConnectionKeys& keys : {derive_keys(secret(), nonces(3, 2), "test", End::client),
                                     derive_keys(secret(), nonces(1, 3), "test", End::client),
                                     derive_keys(secret(), nonces(1, 2), "tesu", End::client),
                                     derive_keys(other, nonces(1, 2), "test", End::client)}) {
    EXPECT_NE(keys.send.key, client_.send.key);
    EXPECT_NE(keys.receive.key, client_.receive.key);
  }
}

// RFC 5869's function, worked out apart with Python's hmac module.
TEST_F(Seal, DerivesTheseVeryKeys) {
  std::string hex;
  for (const std::byte byte : client_.send.key) {
    hex += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    hex += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }

  EXPECT_EQ(hex, "9b6feab4be42073389d057cf9a8c0fed155d1fa56f81a5aaef3bb0692fa6a3d4");
}

TEST_F(Seal, FindsEveryFlippedByte) {
  for (std::size_t at = 0; at < 5 + kSealBytes; ++at) {
    Sealer sealer(client_.send);
    Opener opener(server_.receive);
    Bytes record = sealed(sealer, "hello");
    record[at] ^= std::byte{0x10};

    EXPECT_EQ(opened(opener, record), "(nothing)") << "byte " << at;
  }
}

TEST_F(Seal, FindsRecordsThatAreRepeatedLeftOutOrReflected) {
  Sealer sealer(client_.send);
  const Bytes first = sealed(sealer, "first");
  const Bytes second = sealed(sealer, "second");
  Opener again(server_.receive);
  Opener later(server_.receive);
  Opener own(client_.receive);

  EXPECT_EQ(opened(again, first), "first");
  EXPECT_EQ(opened(again, first), "(nothing)");
  EXPECT_EQ(opened(later, second), "(nothing)");
  EXPECT_EQ(opened(own, first), "(nothing)");
}

TEST_F(Seal, TakesNoRecordThatIsEmptyOrTooLong) {
  for (const std::uint32_t bytes :
       {0U, static_cast<std::uint32_t>(RecordPipe::kMostText) + 1, 0xFFFF'FFFFU}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    const Fd mine(ends[0]);
    const Fd theirs(ends[1]);
    RecordPipe pipe(client_);
    std::array<std::byte, 8> text{};
    ASSERT_EQ(::write(theirs.number(), &bytes, sizeof(bytes)), 4);

    EXPECT_EQ(pipe.read(mine.number(), text), -1);
    EXPECT_TRUE(pipe.is_forged()) << bytes;
  }
}

}  // namespace
}  // namespace muster::collectives::tcp
