#include "runtime/dataset/samples.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"

namespace muster::runtime {
namespace {

/// Names the two uses of the seed, so that order and offset of an epoch are independent.
enum SeedUse : std::uint64_t { order_of_epoch = 0x6F72646572, offset_of_epoch = 0x6F6666736574 };

std::uint64_t key_of(std::int64_t seed, std::int64_t epoch, SeedUse use) noexcept {
  return mix(mix(static_cast<std::uint64_t>(seed), use), static_cast<std::uint64_t>(epoch));
}

}  // namespace

MicroBatch::MicroBatch(std::int64_t rows_in, std::int64_t seq_len_in)
    : rows(rows_in), seq_len(seq_len_in) {
  const auto tokens_in_all = static_cast<std::size_t>(rows * seq_len);
  tokens.resize(tokens_in_all);
  targets.resize(tokens_in_all, -1);
  positions.resize(tokens_in_all);
  bounds.resize(tokens_in_all);
  samples.resize(static_cast<std::size_t>(rows), -1);
}

std::int64_t RowCutter::cut(std::int64_t begin, std::int64_t row,
                            MicroBatch& batch) const noexcept {
  const std::int64_t length = stream_->size();
  const std::int64_t inside = std::clamp<std::int64_t>(length - begin, 0, batch.seq_len);
  const auto first = static_cast<std::size_t>(row * batch.seq_len);
  std::int64_t targets = 0;
  std::int64_t document = inside > 0 ? stream_->document_at(begin) : 0;
  std::int64_t document_end = inside > 0 ? stream_->end_of(document) : 0;
  std::int64_t start = 0;  // of the document, or of the padding, in this row

  for (std::int64_t t = 0; t < batch.seq_len; ++t) {
    const std::int64_t at = begin + t;
    if (t == inside) start = t;
    if (t < inside && at == document_end) {
      document_end = stream_->end_of(++document);
      start = t;
    }
    const bool is_target = t < inside && at + 1 < document_end;
    const auto index = first + static_cast<std::size_t>(t);
    const auto source = static_cast<std::size_t>(at);
    batch.tokens[index] = t < inside ? stream_->tokens()[source] : pad_;
    batch.targets[index] = is_target ? stream_->tokens()[source + 1] : -1;
    batch.positions[index] = static_cast<std::int32_t>(t - start);
    batch.bounds[index] = static_cast<std::int32_t>(row * batch.seq_len + start);
    targets += is_target ? 1 : 0;
  }
  return targets;
}

TrainingSet::TrainingSet(RowCutter cutter, std::int64_t seq_len, std::int64_t seed)
    : cutter_(std::move(cutter)), seq_len_(seq_len), seed_(seed) {
  MUSTER_ASSERT(seq_len > 0 && cutter_.stream().size() > 0);
  samples_ = std::max<std::int64_t>(1, cutter_.stream().size() / seq_len - 1);
}

std::int64_t TrainingSet::begin_of(std::int64_t sample) const noexcept {
  const std::int64_t epoch = sample / samples_;
  const auto n = static_cast<std::uint64_t>(samples_);
  const std::uint64_t inside =
      permute(key_of(seed_, epoch, order_of_epoch), static_cast<std::uint64_t>(sample) % n, n);
  // Offsets at which the last row still has a token behind its end.
  const std::int64_t free = cutter_.stream().size() - samples_ * seq_len_;
  const auto offsets = static_cast<std::uint64_t>(std::clamp<std::int64_t>(free, 1, seq_len_));
  const std::uint64_t offset = key_of(seed_, epoch, offset_of_epoch) % offsets;
  return static_cast<std::int64_t>(offset) + static_cast<std::int64_t>(inside) * seq_len_;
}

std::int64_t TrainingSet::read(std::int64_t sample, std::int64_t row,
                               MicroBatch& batch) const noexcept {
  batch.samples[static_cast<std::size_t>(row)] = sample;
  return cutter_.cut(sample < 0 ? cutter_.stream().size() : begin_of(sample), row, batch);
}

ValidationSet::ValidationSet(RowCutter cutter, std::int64_t seq_len)
    : cutter_(std::move(cutter)), seq_len_(seq_len) {
  MUSTER_ASSERT(seq_len > 0 && cutter_.stream().size() > 0);
  const std::int64_t inputs = cutter_.stream().size() - 1;  // the last token has no successor
  samples_ = std::max<std::int64_t>(1, (inputs + seq_len - 1) / seq_len);
}

std::int64_t ValidationSet::read(std::int64_t first, MicroBatch& batch) const noexcept {
  std::int64_t targets = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int64_t sample = first + row;
    const bool is_padding = sample >= samples_;
    batch.samples[static_cast<std::size_t>(row)] = is_padding ? -1 : sample;
    targets += cutter_.cut(is_padding ? cutter_.stream().size() : sample * seq_len_, row, batch);
  }
  return targets;
}

}  // namespace muster::runtime
