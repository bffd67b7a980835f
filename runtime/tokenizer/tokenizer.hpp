#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/job.hpp"

namespace muster::runtime {

/// Text to token ids and back. Ids lie in [0, vocab_size()). Immutable: any thread may call.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocab_size() const noexcept = 0;
  virtual std::int32_t bos() const noexcept = 0;  // begin of sequence
  virtual std::int32_t eos() const noexcept = 0;  // end of document
  virtual std::int32_t pad() const noexcept = 0;  // fills a sample, never a target

  /// The ids of `text` alone: no bos, no eos.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// The text of `ids`; bos, eos and pad have none. Error(invalid_argument) names an id outside
  /// [0, vocab_size()).
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
};

/// Bytes as tokens: ids 0 to 255, bos 256, eos 257, pad 258. Any bytes survive a round trip.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

/// The tokenizer a job asks for. Error(unsupported) names a path: bytes are the only kind so far.
std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerSection& section);

}  // namespace muster::runtime
