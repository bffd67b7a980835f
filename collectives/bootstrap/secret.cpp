#include "collectives/bootstrap/secret.hpp"

#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

constexpr std::size_t kHexDigits = 2 * kSecretBytes;

std::optional<unsigned> hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<unsigned>(digit - 'A' + 10);
  return std::nullopt;
}

[[noreturn]] void refuse_file(const std::string& path, std::string_view problem) {
  throw Error(ErrorCode::config,
              fmt::format("secret file {}: {}; make one with: (umask 077; openssl rand -hex {} > "
                          "FILE)",
                          path, problem, kSecretBytes));
}

void check_file(const std::string& path, int fd) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) refuse_file(path, errno_text(errno));
  if (!S_ISREG(facts.st_mode)) refuse_file(path, "not a regular file");
  if (facts.st_uid != ::geteuid()) {
    refuse_file(path, fmt::format("belongs to user {}, not to user {} who runs this", facts.st_uid,
                                  ::geteuid()));
  }
  if ((facts.st_mode & 077U) != 0) {
    refuse_file(path, fmt::format("mode {:04o} lets others read it; it must be 0600",
                                  facts.st_mode & 07777U));
  }
}

}  // namespace

Secret Secret::random() {
  Secret secret;
  fill_random(secret.bytes_);
  return secret;
}

Secret Secret::from_hex(std::string_view digits, std::string_view what) {
  Secret secret;
  bool is_valid = digits.size() == kHexDigits;
  for (std::size_t i = 0; is_valid && i < kSecretBytes; ++i) {
    const auto high = hex_value(digits[2 * i]);
    const auto low = hex_value(digits[2 * i + 1]);
    is_valid = high.has_value() && low.has_value();
    if (is_valid) secret.bytes_[i] = static_cast<std::byte>(*high * 16 + *low);
  }
  if (!is_valid) {
    throw Error(ErrorCode::config, fmt::format("{} does not hold {} hexadecimal digits ({} "
                                               "characters found)",
                                               what, kHexDigits, digits.size()));
  }
  return secret;
}

Secret Secret::from_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) refuse_file(path, errno_text(errno));
  check_file(path, file.number());
  std::array<char, kHexDigits + 2> text{};
  const ssize_t read = ::read(file.number(), text.data(), text.size());
  if (read < 0) refuse_file(path, errno_text(errno));
  std::string_view digits(text.data(), static_cast<std::size_t>(read));
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  Secret secret = from_hex(digits, fmt::format("secret file {}", path));
  OPENSSL_cleanse(text.data(), text.size());
  return secret;
}

Secret::~Secret() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

std::string Secret::to_hex() const {
  std::string digits;
  for (const std::byte byte : bytes_) digits += fmt::format("{:02x}", std::to_integer<int>(byte));
  return digits;
}

void fill_random(std::span<std::byte> out) {
  if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) {
    throw Error(ErrorCode::io, fmt::format("no random bytes: {}", errno_text(errno)));
  }
}

Digest hmac_sha256(const Secret& secret, std::span<const std::byte> message) {
  Digest digest{};
  unsigned length = 0;
  const unsigned char* const done =
      HMAC(EVP_sha256(), secret.bytes().data(), static_cast<int>(kSecretBytes),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length);
  if (done == nullptr || length != digest.size()) {
    throw Error(ErrorCode::internal, "HMAC-SHA256 is not available in this OpenSSL");
  }
  return digest;
}

bool is_equal(const Digest& a, const Digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster::collectives
