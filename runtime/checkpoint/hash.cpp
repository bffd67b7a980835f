#include "runtime/checkpoint/hash.hpp"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the library's own
#include <fmt/format.h>
#include <xxhash.h>

namespace muster::runtime {

struct Hash::State {
  XXH64_state_t xxh;
};

void Hash::Free::operator()(State* state) const noexcept {
  delete state;
}

Hash::Hash() : state_(new State) {
  XXH64_reset(&state_->xxh, 0);
}

void Hash::add(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) XXH64_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string Hash::digits() const {
  return fmt::format("{:016x}", XXH64_digest(&state_->xxh));
}

std::string hash_of(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.digits();
}

std::string hash_of(std::string_view text) {
  return hash_of(std::as_bytes(std::span(text)));
}

}  // namespace muster::runtime
