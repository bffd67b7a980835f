#include "collectives/bootstrap/secret.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

constexpr const char* kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eFF";

class SecretFile : public testing::Test {
 protected:
  std::string write(const std::string& text, unsigned mode) {
    std::string path = testing::TempDir() + "secret_file_" + std::to_string(::getpid());
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::string refusal(const std::string& path) {
    try {
      Secret::from_file(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }
};

TEST(Secret, SurvivesHexadecimal) {
  const Secret secret = Secret::random();

  const Secret again = Secret::from_hex(secret.to_hex(), "test");

  EXPECT_TRUE(std::ranges::equal(secret.bytes(), again.bytes()));
}

TEST(Secret, IsNewEveryTime) {
  EXPECT_NE(Secret::random().to_hex(), Secret::random().to_hex());
}

TEST(Secret, RefusesDigitsWithoutShowingThem) {
  for (const std::string& digits :
       {std::string("abc"), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g')}) {
    try {
      Secret::from_hex(digits, "the pipe");
      FAIL() << "accepted " << digits;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("the pipe"), std::string::npos) << text;
      EXPECT_EQ(text.find(digits), std::string::npos) << text;
    }
  }
}

TEST(Secret, GivesTheHmacOfRfc4231) {
  // Test case 2 of RFC 4231 has the key "Jefe"; a key of 32 bytes padded with zeros is the same
  // HMAC key, since HMAC pads with zeros itself.
  const Secret secret =
      Secret::from_hex("4a65666500000000000000000000000000000000000000000000000000000000", "test");
  const std::string message = "what do ya want for nothing?";
  const auto* const bytes = reinterpret_cast<const std::byte*>(message.data());

  const Digest digest = hmac_sha256(secret, {bytes, message.size()});

  EXPECT_EQ(std::to_integer<int>(digest[0]), 0x5b);
  EXPECT_EQ(std::to_integer<int>(digest[1]), 0xdc);
  EXPECT_EQ(std::to_integer<int>(digest[31]), 0x43);
}

TEST_F(SecretFile, IsReadWithAndWithoutANewline) {
  EXPECT_EQ(Secret::from_file(write(kDigits, 0600)).to_hex().substr(60), "1eff" + std::string());
  EXPECT_EQ(Secret::from_file(write(std::string(kDigits) + "\n", 0400)).to_hex().substr(60),
            "1eff");
}

TEST_F(SecretFile, IsRefusedWhenOthersCanReadIt) {
  EXPECT_NE(refusal(write(kDigits, 0640)).find("0640"), std::string::npos);
  EXPECT_NE(refusal(write(kDigits, 0604)).find("0604"), std::string::npos);
}

TEST_F(SecretFile, IsRefusedWhenItIsALink) {
  const std::string target = write(kDigits, 0600);
  const std::string link = target + "_link";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(target, link);

  EXPECT_NE(refusal(link).find(link), std::string::npos);
}

TEST_F(SecretFile, IsRefusedWhenMissingOrEmptyOrLong) {
  EXPECT_NE(refusal(testing::TempDir() + "no_such_secret").find("openssl rand"), std::string::npos);
  EXPECT_NE(refusal(write("", 0600)).find("64"), std::string::npos);
  EXPECT_NE(refusal(write(std::string(kDigits) + "0", 0600)).find("64"), std::string::npos);
}

}  // namespace
}  // namespace muster::collectives
