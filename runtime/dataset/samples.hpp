#pragma once

#include <cstdint>
#include <memory>

#include "runtime/dataset/batch.hpp"
#include "runtime/dataset/token_stream.hpp"

namespace muster::runtime {

/// Cuts rows out of a token stream. A row that begins at position b reads tokens [b, b + seq_len);
/// each target is the next token of the same document, so the last token of a document has none
/// (-1). What lies behind the stream's end is filled with `pad`, which stands as a document of its
/// own without targets.
///
///     stream       h  i  eos  y  o  u  eos          seq_len 4, b = 1
///     tokens          i  eos  y  o
///     targets       eos   -1  o  u
///     positions       0    1  0  1
///     bounds          0    0  2  2
class RowCutter {
 public:
  RowCutter(std::shared_ptr<const TokenStream> stream, std::int32_t pad)
      : stream_(std::move(stream)), pad_(pad) {}

  const TokenStream& stream() const noexcept { return *stream_; }

  /// Fills row `row` of `batch` from position `begin`; a `begin` at or behind the stream's end
  /// gives padding only. Returns the number of targets that count. Allocates nothing.
  std::int64_t cut(std::int64_t begin, std::int64_t row, MicroBatch& batch) const noexcept;

 private:
  std::shared_ptr<const TokenStream> stream_;  // shared with the other sets made of the same text
  std::int32_t pad_;
};

/// Training samples in their order, which depends on (seed, global sample number) alone: never on
/// ranks, batch sizes or where a run was resumed. Immutable: any thread may call.
///
/// With L tokens and sequences of S there are n = max(1, floor((L - S) / S)) samples in an epoch.
/// Sample g belongs to epoch e = g / n; it is number permute(key(seed, e), g % n, n) of the n rows
/// that begin at o, o + S, o + 2 S, …, where o in [0, S) depends on (seed, e), so that no token is
/// at the edge of its row in every epoch. A text shorter than a row is one padded sample.
class TrainingSet {
 public:
  TrainingSet(RowCutter cutter, std::int64_t seq_len, std::int64_t seed);

  std::int64_t samples_per_epoch() const noexcept { return samples_; }
  std::int64_t seq_len() const noexcept { return seq_len_; }

  /// The stream position where sample `sample` (>= 0) begins.
  std::int64_t begin_of(std::int64_t sample) const noexcept;

  /// Fills row `row` of `batch` with sample `sample`, or with padding when that is -1; returns the
  /// number of targets that count.
  std::int64_t read(std::int64_t sample, std::int64_t row, MicroBatch& batch) const noexcept;

 private:
  RowCutter cutter_;
  std::int64_t seq_len_;
  std::int64_t seed_;
  std::int64_t samples_;
};

/// Held-out text in order: sample i is tokens [i S, i S + S), the last one padded. Every token with
/// a successor in its document is a target exactly once. Immutable: any thread may call.
class ValidationSet {
 public:
  ValidationSet(RowCutter cutter, std::int64_t seq_len);

  std::int64_t samples() const noexcept { return samples_; }

  /// Fills all rows of `batch` with samples first, first + 1, …, and with padding behind the last
  /// one; returns the number of targets that count.
  std::int64_t read(std::int64_t first, MicroBatch& batch) const noexcept;

 private:
  RowCutter cutter_;
  std::int64_t seq_len_;
  std::int64_t samples_;
};

}  // namespace muster::runtime
