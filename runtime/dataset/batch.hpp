#pragma once

#include <cstdint>
#include <vector>

namespace muster::runtime {

/// What the model reads at once: `rows` sequences of `seq_len` tokens, one behind the other, so
/// that token t of row r has index r * seq_len + t in every vector.
struct MicroBatch {
  MicroBatch(std::int64_t rows_in, std::int64_t seq_len_in);

  std::int64_t rows;
  std::int64_t seq_len;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;    // the next token; -1: counts for nothing
  std::vector<std::int32_t> positions;  // since the later of document begin and row begin
  std::vector<std::int32_t> bounds;     // index of the first token that may be attended to
  std::vector<std::int64_t> samples;    // [rows] global sample numbers; -1: a row of padding
};

/// The rows of one rank in one step.
struct Batch {
  std::int64_t step = 0;
  std::int64_t target_count = 0;  // targets that count, over all micro-batches
  std::vector<MicroBatch> micro_batches;
};

}  // namespace muster::runtime
