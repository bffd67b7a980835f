#include "collectives/tcp/seal.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {
namespace {

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

void require(bool is_done, const char* what) {
  if (!is_done) {
    throw Error(ErrorCode::internal,
                std::string(what) + " failed in this OpenSSL; MUSTER_TCP_ENCRYPT=0 does without");
  }
}

// HKDF-SHA256 of the secret; fills `out`.
void expand(const Secret& secret, const Nonces& nonces, std::string info,
            std::span<std::byte> out) {
  std::array<std::byte, sizeof(Nonces)> salt;
  std::ranges::copy(nonces.server, std::ranges::copy(nonces.client, salt.begin()).out);
  std::array<std::byte, kSecretBytes> secret_bytes;
  std::ranges::copy(secret.bytes(), secret_bytes.begin());
  std::string digest = "SHA256";

  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                         EVP_KDF_free);
  require(kdf != nullptr, "HKDF");
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                     EVP_KDF_CTX_free);
  const std::array<OSSL_PARAM, 5> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret_bytes.data(),
                                        secret_bytes.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  const bool is_done = context != nullptr && EVP_KDF_derive(context.get(), raw(out.data()),
                                                            out.size(), parameters.data()) == 1;
  OPENSSL_cleanse(secret_bytes.data(), secret_bytes.size());
  require(is_done, "HKDF-SHA256");
}

SealKey derive(const Secret& secret, const Nonces& nonces, std::string_view group, End sender) {
  const char* const direction = sender == End::client ? "client" : "server";
  const std::string info = std::string("muster tcp 1 ") + direction + " " + std::string(group);
  std::array<std::byte, sizeof(SealKey::key) + sizeof(SealKey::iv)> material;
  expand(secret, nonces, info, material);
  SealKey key;
  std::copy_n(material.begin(), key.key.size(), key.key.begin());
  std::copy_n(material.begin() + sizeof(SealKey::key), key.iv.size(), key.iv.begin());
  OPENSSL_cleanse(material.data(), material.size());
  return key;
}

}  // namespace

Nonces nonces_of(const Hello& hello, const Challenge& challenge) noexcept {
  Nonces nonces;
  std::copy_n(hello.begin() + kMagicBytes, nonces.client.size(), nonces.client.begin());
  std::copy_n(challenge.begin(), nonces.server.size(), nonces.server.begin());
  return nonces;
}

SealKey::~SealKey() {
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(iv.data(), iv.size());
}

ConnectionKeys derive_keys(const Secret& secret, const Nonces& nonces, std::string_view group,
                           End end) {
  const End other = end == End::client ? End::server : End::client;
  return {derive(secret, nonces, group, end), derive(secret, nonces, group, other)};
}

void Cipher::Free::operator()(evp_cipher_ctx_st* context) const noexcept {
  EVP_CIPHER_CTX_free(context);
}

Cipher::Cipher(const SealKey& key, bool seals) : context_(EVP_CIPHER_CTX_new()), iv_(key.iv) {
  require(context_ != nullptr &&
              EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, raw(key.key.data()),
                                raw(iv_.data()), seals ? 1 : 0) == 1,
          "AES-256-GCM");
}

Cipher::Cipher(Cipher&& other) noexcept = default;
Cipher& Cipher::operator=(Cipher&& other) noexcept = default;
Cipher::~Cipher() = default;

void Cipher::begin(std::span<const std::byte> head) {
  std::array<std::byte, sizeof(iv_)> nonce = iv_;
  for (std::size_t i = 0; i < sizeof(records_); ++i) {
    nonce[nonce.size() - 1 - i] ^= static_cast<std::byte>(records_ >> (8 * i) & 0xFFU);
  }
  ++records_;
  int length = 0;
  require(
      EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, raw(nonce.data()), -1) == 1 &&
          EVP_CipherUpdate(context_.get(), nullptr, &length, raw(head.data()),
                           static_cast<int>(head.size())) == 1,
      "AES-256-GCM");
}

void Cipher::update(std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  int length = 0;
  require(EVP_CipherUpdate(context_.get(), raw(to), &length, raw(from.data()),
                           static_cast<int>(from.size())) == 1,
          "AES-256-GCM");
}

void Sealer::seal(std::span<const std::byte> first, std::span<const std::byte> second,
                  std::span<std::byte> record) {
  const auto bytes = static_cast<std::uint32_t>(first.size() + second.size());
  std::memcpy(record.data(), &bytes, sizeof(bytes));
  begin(record.first(kRecordHeadBytes));
  std::byte* const text = record.data() + kRecordHeadBytes;
  update(first, text);
  update(second, text + first.size());
  int length = 0;
  require(EVP_CipherFinal_ex(context(), raw(text + bytes), &length) == 1 &&
              EVP_CIPHER_CTX_ctrl(context(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, text + bytes) == 1,
          "AES-256-GCM");
}

std::optional<std::span<std::byte>> Opener::open(std::span<std::byte> record) {
  begin(record.first(kRecordHeadBytes));
  const std::span<std::byte> text = record.subspan(kRecordHeadBytes, record.size() - kSealBytes);
  update(text, text.data());
  int length = 0;
  require(EVP_CIPHER_CTX_ctrl(context(), EVP_CTRL_AEAD_SET_TAG, kTagBytes,
                              text.data() + text.size()) == 1,
          "AES-256-GCM");
  std::byte none{};
  if (EVP_CipherFinal_ex(context(), raw(&none), &length) != 1) return std::nullopt;
  return text;
}

std::uint32_t text_bytes(std::span<const std::byte> head) noexcept {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, head.data(), sizeof(bytes));
  return bytes;
}

}  // namespace muster::collectives::tcp
