#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace muster::runtime {
namespace {

constexpr std::int32_t kBytes = 256;
constexpr std::int32_t kBos = kBytes;
constexpr std::int32_t kEos = kBytes + 1;
constexpr std::int32_t kPad = kBytes + 2;
constexpr std::int32_t kVocab = kBytes + 3;

class ByteTokenizer final : public Tokenizer {
 public:
  std::int64_t vocab_size() const noexcept override { return kVocab; }
  std::int32_t bos() const noexcept override { return kBos; }
  std::int32_t eos() const noexcept override { return kEos; }
  std::int32_t pad() const noexcept override { return kPad; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= kVocab) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("token id {} is outside the byte tokenizer's [0, {})", id, kVocab));
      }
      if (id < kBytes) text += static_cast<char>(id);
    }
    return text;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerSection& section) {
  if (section.path.empty()) return make_byte_tokenizer();
  throw Error(ErrorCode::unsupported,
              fmt::format("tokenizer.path = \"{}\": tokenizer files cannot be read yet; leave the "
                          "key out to use bytes (vocabulary of {})",
                          section.path, kVocab));
}

}  // namespace muster::runtime
