#include "kernels/ops/attention.hpp"

#include <atomic>
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/attention_tiles.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/tile_matmul.hpp"
#include "kernels/cpu/simd/tile_pack.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// Query rows (tokens x heads) that share one pass over the keys. Packing a tile of keys costs
/// about as much as two blocks of rows, so there should be many; 192 rows of queries and sums for
/// head_dim 64 still lie in the second-level cache.
constexpr std::int64_t kItemRows = 192;
constexpr std::int64_t kItemHeads = 4;

/// Queries of one document that are handled together: tokens [first, first + tokens).
struct QueryTile {
  std::int32_t document;
  std::int32_t first;
  std::int32_t tokens;
};

/// How heads are cut: heads that share a key/value head go together, at most kItemHeads of them.
struct HeadCut {
  std::int64_t chunks;  // per key/value head
  std::int64_t heads;   // per chunk, the last may have fewer
  std::int64_t tokens;  // per query tile

  explicit HeadCut(std::int64_t group)
      : chunks((group + kItemHeads - 1) / kItemHeads),
        heads((group + chunks - 1) / chunks),
        tokens(kItemRows / heads / kBlockRows * kBlockRows) {}
};

/// The tiles one thread works in. Row h * tokens + t of q, sum, top and weight belongs to head h of
/// the chunk and query t of the tile.
struct Workspace {
  std::int64_t width;  // head_dim rounded up to whole registers
  float* q;            // [kItemRows, width] queries times scale and log2(e)
  float* sum;          // [kItemRows, width] of p v so far
  float* weight;       // [kItemRows, kWidth] sum of p so far, still spread over a register
  float* top;          // [kItemRows] largest score so far
  float* keys;         // [head_dim, kScoreRow] transposed
  float* values;       // [kTileKeys, width]; holds the keys while they are transposed
  float* scores;       // [kBlockRows, kScoreRow]

  Workspace(ScratchCutter& scratch, std::int64_t head_dim)
      : width(round_up(head_dim, kWidth)),
        q(scratch.take<float>(kItemRows * width)),
        sum(scratch.take<float>(kItemRows * width)),
        weight(scratch.take<float>(kItemRows * kWidth)),
        top(scratch.take<float>(kItemRows)),
        keys(scratch.take<float>(round_up(head_dim, 8) * kScoreRow)),
        values(scratch.take<float>(kTileKeys * width)),
        scores(scratch.take<float>(kBlockRows * kScoreRow)) {}
};

/// How far a score may lie above `top`, in units of ln 2, before earlier sums are scaled down to a
/// new one: p may be as large as 2^kHeadroom, and the correction is rarely needed.
constexpr float kHeadroom = 8.0F;

/// What has been summed for one query and head so far.
struct RowSums {
  float* sum;          // [width] of p v
  float* weight;       // [kWidth] of p
  float* top;          // what p is relative to; minus infinity before the first keys
  std::int64_t width;  // of sum
};

/// A new top that is the largest of all scores so far; the sums follow it.
void raise_top(const RowSums& row, float largest) {
  if (*row.top > -std::numeric_limits<float>::infinity()) {
    const Floats shrink = exp2(Floats::set(*row.top - largest));
    store(row.weight, load(row.weight) * shrink);
    for (std::int64_t c = 0; c < row.width; c += kWidth) {
      store(row.sum + c, load(row.sum + c) * shrink);
    }
  }
  *row.top = largest;
}

/// A row of scores becomes p = exp(score - top), the row's weight gains their sum. With kIsWhole
/// every key of a full tile is visible.
template <bool kIsWhole>
void weigh_row(float* scores, std::int64_t columns, const Visible& visible, const RowSums& row) {
  const std::int64_t n = kIsWhole ? kTileKeys : columns;
  Floats largest = Floats::set(*row.top);
  for (std::int64_t c = 0; c < n; c += kWidth) {
    const Floats s = load(scores + c);
    largest = max(largest, kIsWhole || visible.holds(c) ? s : hide_scores(s, visible, c));
  }
  if (any_greater(largest, Floats::set(*row.top + kHeadroom))) raise_top(row, maximum(largest));
  const Floats top = Floats::set(*row.top);
  Floats total = load(row.weight);
  for (std::int64_t c = 0; c < n; c += kWidth) {
    const Floats s = load(scores + c);
    const Floats p = kIsWhole ? exp2(s - top) : probabilities(s, top, visible, c);
    store(scores + c, p);
    total = total + p;
  }
  store(row.weight, total);
}

/// One query tile of one chunk of heads against all keys it sees.
template <typename T>
class ForwardItem {
 public:
  ForwardItem(const AttentionArgs& args, const Workspace& space, const QueryTile& tile)
      : args_(args),
        space_(space),
        tile_(tile),
        head_dim_(args.q.cols / args.heads),
        bounds_(args.bounds.row<std::int32_t>(0)) {}

  void run(std::int64_t kv_head, std::int64_t first_head, std::int64_t heads) {
    const std::int64_t end = tile_.first + tile_.tokens;
    const std::int64_t hidden =
        bounds_[tile_.first] - tile_.document;  // by every query of the tile
    const std::int64_t begin = tile_.document + hidden / kTileKeys * kTileKeys;
    const std::int64_t blocks = heads * ((tile_.tokens + kBlockRows - 1) / kBlockRows);
    for (std::int64_t k = begin; k < end; k += kTileKeys) {
      const std::int64_t n = std::min(kTileKeys, end - k);
      pack_keys(head_rows(args_.k, kv_head, k, n), space_.values, space_.width, space_.keys);
      pack_rows(head_rows(args_.v, kv_head, k, n), 1.0F, space_.values, space_.width);
      const std::int64_t ahead = std::min(kTileKeys, end - k - n);
      RowPrefetch<T> next_keys(head_rows(args_.k, kv_head, k + n, ahead), blocks);
      RowPrefetch<T> next_values(head_rows(args_.v, kv_head, k + n, ahead), blocks);
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < tile_.tokens; t += kBlockRows) {
          if (k == begin) start(first_head, h, t);
          next_keys.step();
          next_values.step();
          attend(h, t, k, n);
          if (k + n == end) finish(first_head, h, t);
        }
      }
    }
  }

 private:
  Rows<const T> head_rows(const ConstTensorView& view, std::int64_t head, std::int64_t first,
                          std::int64_t n) const {
    return {view.row<T>(first) + head * head_dim_, view.stride, n, head_dim_};
  }
  std::int64_t block_rows(std::int64_t t) const {
    return std::min<std::int64_t>(kBlockRows, tile_.tokens - t);
  }

  void start(std::int64_t first_head, std::int64_t h, std::int64_t t) {
    const std::int64_t rows = block_rows(t);
    const std::int64_t row = h * tile_.tokens + t;
    const auto source = head_rows(args_.q, first_head + h, tile_.first + t, rows);
    pack_rows(source, args_.scale * kLog2E, space_.q + row * space_.width, space_.width);
    const std::int64_t ahead = std::min<std::int64_t>(kBlockRows, tile_.tokens - t - rows);
    RowPrefetch<T>({source.data + rows * source.stride, source.stride, ahead, head_dim_}, 1).step();
    std::fill_n(space_.sum + row * space_.width, rows * space_.width, 0.0F);
    std::fill_n(space_.weight + row * kWidth, rows * kWidth, 0.0F);
    std::fill_n(space_.top + row, rows, -std::numeric_limits<float>::infinity());
  }

  /// A block of queries of one head, from query t of the tile on, against the keys [k, k + n).
  void attend(std::int64_t head, std::int64_t t, std::int64_t k, std::int64_t n) {
    const std::int64_t rows = block_rows(t);
    const std::int64_t token = tile_.first + t;
    const std::int64_t begin = std::max<std::int64_t>(bounds_[token], k);
    const std::int64_t end = std::min(token + rows, k + n);
    if (begin >= end) return;
    const std::int64_t row = head * tile_.tokens + t;
    const std::int64_t columns = round_up(end - begin, kWidth);
    multiply_tile({space_.q + row * space_.width, space_.width, 1, space_.keys + begin - k,
                   kScoreRow, space_.scores, kScoreRow, head_dim_, false},
                  rows, columns / kWidth);
    const bool is_whole = bounds_[token + rows - 1] <= k && token >= k + kTileKeys;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Visible visible{std::max<std::int64_t>(bounds_[token + i] - begin, 0),
                            std::min(token + i + 1, end) - begin};
      float* const scores = space_.scores + i * kScoreRow;
      if (is_whole) {
        weigh_row<true>(scores, columns, visible, sums(row + i));
      } else if (!visible.is_empty()) {
        weigh_row<false>(scores, columns, visible, sums(row + i));
      } else {  // other rows of the block see these keys
        std::fill_n(scores, columns, 0.0F);
      }
    }
    multiply_tile({space_.scores, kScoreRow, 1, space_.values + (begin - k) * space_.width,
                   space_.width, space_.sum + row * space_.width, space_.width, end - begin, true},
                  rows, space_.width / kWidth);
  }

  RowSums sums(std::int64_t row) const {
    return {space_.sum + row * space_.width, space_.weight + row * kWidth, space_.top + row,
            space_.width};
  }

  void finish(std::int64_t first_head, std::int64_t h, std::int64_t t) {
    float* const lse = args_.lse.row<float>(first_head + h) + tile_.first + t;
    for (std::int64_t i = 0; i < block_rows(t); ++i) {
      const std::int64_t row = h * tile_.tokens + t + i;
      const float weight = sum(load(space_.weight + row * kWidth));
      lse[i] = space_.top[row] * kLn2 + std::log(weight);
      T* const out = args_.out.row<T>(tile_.first + t + i) + (first_head + h) * head_dim_;
      unpack_rows<T>(space_.sum + row * space_.width, space_.width, 1.0F / weight,
                     {out, args_.out.stride, 1, head_dim_});
    }
  }

  const AttentionArgs& args_;
  const Workspace& space_;
  const QueryTile tile_;
  const std::int64_t head_dim_;
  const std::int32_t* const bounds_;
};

/// Cuts every document into tiles of at most `tokens` queries; returns how many.
std::int64_t cut_queries(const ConstTensorView& bounds, std::int64_t tokens, QueryTile* tiles) {
  std::int64_t count = 0;
  for_each_document(
      bounds.row<std::int32_t>(0), bounds.cols, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += tokens) {
          const std::int64_t n = std::min(tokens, end - first);
          tiles[count++] = {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(first),
                            static_cast<std::int32_t>(n)};
        }
      });
  return count;
}

template <typename T>
void attention_typed(Device& device, const AttentionArgs& args) {
  const std::int64_t head_dim = args.q.cols / args.heads;
  const std::int64_t group = args.heads / args.kv_heads;
  const HeadCut cut(group);
  ScratchCutter counter(nullptr);
  counter.take<QueryTile>(args.q.rows);
  const std::int64_t list_bytes = counter.bytes();
  const Workspace unused(counter, head_dim);
  const std::int64_t thread_bytes = counter.bytes() - list_bytes;

  std::byte* const scratch =
      device.scratch(static_cast<std::size_t>(list_bytes + device.threads() * thread_bytes)).data();
  auto* const tiles = reinterpret_cast<QueryTile*>(scratch);
  const std::int64_t heads = args.kv_heads * cut.chunks;
  const std::int64_t items = cut_queries(args.bounds, cut.tokens, tiles) * heads;

  // Items are taken as threads get free, the last tiles first: those see the most keys.
  std::atomic<std::int64_t> next{0};
  const std::int64_t parts = std::min<std::int64_t>(device.threads(), items);
  parallel_for(device.threads(), parts, 1, [&](std::int64_t thread, std::int64_t) {
    ScratchCutter cutter(scratch + list_bytes + thread * thread_bytes);
    const Workspace space(cutter, head_dim);
    for (std::int64_t taken = next++; taken < items; taken = next++) {
      const std::int64_t item = items - 1 - taken;
      const std::int64_t kv_head = item % heads / cut.chunks;
      const std::int64_t in_group = item % cut.chunks * cut.heads;
      ForwardItem<T>(args, space, tiles[item / heads])
          .run(kv_head, kv_head * group + in_group, std::min(cut.heads, group - in_group));
    }
  });
}

}  // namespace

void attention(Device& device, const AttentionArgs& args) {
  with_float(args.q.dtype,
             [&](auto type) { attention_typed<typename decltype(type)::type>(device, args); });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
