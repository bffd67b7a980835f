#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/bootstrap/secret.hpp"

struct evp_cipher_ctx_st;

/// Encryption of a connection: records, sealed with AES-256-GCM under keys of that connection and
/// direction alone.
///
///   bytes (4, little-endian, authenticated) | ciphertext [bytes] | tag (16)
///
/// The nonce of a record is its number on the connection, so that one that was changed, repeated,
/// left out or moved does not open. Keys come from the job's secret and both nonces of the
/// handshake by HKDF-SHA256; whoever learns the secret later can read what he recorded before.
namespace muster::collectives::tcp {

/// What both ends of a connection sent in the handshake: new for every connection.
struct Nonces {
  Nonce client;
  Nonce server;
};
Nonces nonces_of(const Hello& hello, const Challenge& challenge) noexcept;

/// Which end of a connection; the client is the one that connected.
enum class End : std::uint8_t { client, server };

/// The key of one direction of one connection. Wiped from memory when destroyed.
struct SealKey {
  SealKey() = default;
  SealKey(const SealKey&) = default;
  SealKey& operator=(const SealKey&) = default;
  ~SealKey();

  std::array<std::byte, 32> key{};
  std::array<std::byte, 12> iv{};
};
struct ConnectionKeys {
  SealKey send;
  SealKey receive;
};
/// The keys as `end` uses them. Error(internal) when this OpenSSL has no HKDF.
ConnectionKeys derive_keys(const Secret& secret, const Nonces& nonces, std::string_view group,
                           End end);

inline constexpr std::size_t kRecordHeadBytes = 4;
inline constexpr std::size_t kTagBytes = 16;
/// What a record has beyond its text.
inline constexpr std::size_t kSealBytes = kRecordHeadBytes + kTagBytes;

/// The cipher of one direction. It allocates when it is made and never again. One thread at a time.
class Cipher {
 public:
  explicit Cipher(const SealKey& key, bool seals);
  Cipher(Cipher&& other) noexcept;
  Cipher& operator=(Cipher&& other) noexcept;
  ~Cipher();

 protected:
  /// Begins the next record, whose head is authenticated with it.
  void begin(std::span<const std::byte> head);
  void update(std::span<const std::byte> from, std::byte* to);
  evp_cipher_ctx_st* context() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  std::array<std::byte, 12> iv_;
  std::uint64_t records_ = 0;
};

class Sealer : public Cipher {
 public:
  explicit Sealer(const SealKey& key) : Cipher(key, true) {}

  /// Writes the next record, of one text in two parts, to `record`
  /// [first.size() + second.size() + kSealBytes].
  void seal(std::span<const std::byte> first, std::span<const std::byte> second,
            std::span<std::byte> record);
};

class Opener : public Cipher {
 public:
  explicit Opener(const SealKey& key) : Cipher(key, false) {}

  /// Opens a whole record in place: its text, which lies in it, or nothing if this is not the
  /// record that the other end sealed next.
  std::optional<std::span<std::byte>> open(std::span<std::byte> record);
};

/// How long the text of a record is by its head. [kRecordHeadBytes]
std::uint32_t text_bytes(std::span<const std::byte> head) noexcept;

}  // namespace muster::collectives::tcp
