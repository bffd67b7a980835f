#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/random.hpp"

namespace muster {

/// Damages texts as a careless editor, a bad disk or an attacker would, the same way for the same
/// numbers, so that a failure can be repeated.
class Mutator {
 public:
  explicit Mutator(std::uint64_t key) : key_(key) {}

  /// `text` with one to four changes.
  std::string mutate(std::string text) {
    const std::uint64_t changes = 1 + below(4);
    for (std::uint64_t i = 0; i < changes; ++i) change(text);
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return mix(key_, counter_++) % n; }

  std::size_t place(const std::string& text) {
    return static_cast<std::size_t>(below(text.size() + 1));
  }

  void change(std::string& text) {
    const std::size_t at = place(text);
    const auto length = static_cast<std::size_t>(below(20));
    switch (below(6)) {
      case 0: text.insert(at, word()); break;
      case 1: text.insert(at, text.substr(place(text), length)); break;
      case 2: text.erase(at, length); break;
      case 3: text.resize(at); break;
      case 4: text.insert(at, 1, static_cast<char>(below(256))); break;
      default: flip(text, at); break;
    }
  }

  void flip(std::string& text, std::size_t at) {
    if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
  }

  /// Pieces that parsers have special paths for.
  std::string_view word() {
    using namespace std::string_view_literals;
    constexpr std::array kWords = {"{"sv,
                                   "}"sv,
                                   "["sv,
                                   "]]"sv,
                                   "\""sv,
                                   "\\"sv,
                                   "\\u0000"sv,
                                   "\\ud800"sv,
                                   "\0"sv,
                                   "\n"sv,
                                   "\r\n"sv,
                                   ","sv,
                                   ":"sv,
                                   "="sv,
                                   "."sv,
                                   "#"sv,
                                   "-1"sv,
                                   "1e999"sv,
                                   "nan"sv,
                                   "null"sv,
                                   "true"sv,
                                   "\xff"sv,
                                   "\xc3"sv,
                                   "\xed\xa0\x80"sv,
                                   "0"sv,
                                   "18446744073709551616"sv,
                                   "9223372036854775808"sv,
                                   "4294967296"sv};
    return kWords[below(kWords.size())];
  }

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace muster
