#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace muster::runtime {

/// XXH64 (Yann Collet) of bytes that come in pieces: finds damage, not forgery.
class Hash {
 public:
  Hash();
  void add(std::span<const std::byte> bytes) noexcept;
  /// Of all that was added, as 16 hexadecimal digits.
  std::string digits() const;

 private:
  struct State;
  struct Free {
    void operator()(State* state) const noexcept;
  };
  std::unique_ptr<State, Free> state_;
};

std::string hash_of(std::span<const std::byte> bytes);
std::string hash_of(std::string_view text);

}  // namespace muster::runtime
