#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace muster::collectives {

inline constexpr std::size_t kSecretBytes = 32;
using Digest = std::array<std::byte, 32>;

/// The 256-bit secret of a job: whoever knows it may join. Wiped from memory when destroyed; never
/// printed, never in an argument or an environment variable's value.
class Secret {
 public:
  /// From the kernel's random source.
  static Secret random();
  /// Reads 64 hexadecimal digits. Error(config) names `what`, never the digits.
  static Secret from_hex(std::string_view digits, std::string_view what);
  /// Reads a file of 64 hexadecimal digits and at most a newline. Error(config) unless it is a
  /// regular file, ours, and closed to group and others (mode 0600 or 0400); links are not
  /// followed.
  static Secret from_file(const std::string& path);

  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  std::string to_hex() const;
  std::span<const std::byte, kSecretBytes> bytes() const noexcept { return bytes_; }

 private:
  Secret() = default;

  std::array<std::byte, kSecretBytes> bytes_{};
};

/// Fills `out` from the kernel's random source.
void fill_random(std::span<std::byte> out);

/// HMAC-SHA256 of `message` under the secret.
Digest hmac_sha256(const Secret& secret, std::span<const std::byte> message);

/// Compares in a time that does not depend on where they differ.
bool is_equal(const Digest& a, const Digest& b) noexcept;

}  // namespace muster::collectives
