#include <atomic>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/attention_tiles.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/tile_matmul.hpp"
#include "kernels/cpu/simd/tile_pack.hpp"
#include "kernels/ops/attention.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// Queries per tile; the sums of dk and dv are loaded and stored once per this many.
constexpr std::int64_t kTileQueries = 96;

/// The tokens [first, end) of one document.
struct Document {
  std::int32_t first;
  std::int32_t end;

  std::int64_t tokens() const { return end - first; }
};

/// The tiles one thread works in, and the sums of one document and key/value head, which grow with
/// the document.
struct Workspace {
  std::int64_t width;    // head_dim rounded up to whole registers
  float* keys;           // [kTileKeys, width]
  float* keys_across;    // [head_dim, kScoreRow] transposed
  float* values_across;  // [head_dim, kScoreRow] transposed
  float* dk;             // [kTileKeys, width]
  float* dv;             // [kTileKeys, width]; holds the values while they are transposed
  float* q;              // [kTileQueries, width] times scale and log2(e)
  float* dout;           // [kTileQueries, width]
  float* p;              // [kTileQueries, kScoreRow]
  float* ds;             // [kTileQueries, kScoreRow]
  float* dq;             // [group, longest document, width]
  float* delta;          // [group, longest document]

  Workspace(ScratchCutter& scratch, std::int64_t head_dim, std::int64_t longest_rows)
      : width(round_up(head_dim, kWidth)),
        keys(scratch.take<float>(kTileKeys * width)),
        keys_across(scratch.take<float>(round_up(head_dim, 8) * kScoreRow)),
        values_across(scratch.take<float>(round_up(head_dim, 8) * kScoreRow)),
        dk(scratch.take<float>(kTileKeys * width)),
        dv(scratch.take<float>(kTileKeys * width)),
        q(scratch.take<float>(kTileQueries * width)),
        dout(scratch.take<float>(kTileQueries * width)),
        p(scratch.take<float>(kTileQueries * kScoreRow)),
        ds(scratch.take<float>(kTileQueries * kScoreRow)),
        dq(scratch.take<float>(longest_rows * width)),
        delta(scratch.take<float>(longest_rows)) {}
};

template <typename T>
float dot(const T* a, const T* b, std::int64_t n) {
  Floats total = Floats::zero();
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) total = fma(load(a + i), load(b + i), total);
  if (i < n) total = fma(load_first(a + i, n - i), load_first(b + i, n - i), total);
  return sum(total);
}

/// What a row of scores and of dout . v become, in place: p = exp(score - lse) and
/// ds = p * (dout . v - delta).
struct RowGradient {
  float* p;
  float* ds;
  float lse;  // in units of ln 2
  float delta;
};

void differentiate_row(const RowGradient& row, std::int64_t columns, const Visible& visible) {
  const Floats lse = Floats::set(row.lse);
  const Floats delta = Floats::set(row.delta);
  for (std::int64_t c = 0; c < columns; c += kWidth) {
    const Floats p = probabilities(load(row.p + c), lse, visible, c);
    store(row.p + c, p);
    store(row.ds + c, p * (load(row.ds + c) - delta));
  }
}

/// The keys [first, first + n) and, of one head, the queries [query, query + queries).
struct Tile {
  std::int64_t first;
  std::int64_t n;
  std::int64_t head;  // within the group
  std::int64_t query;
  std::int64_t queries;
};

/// One document and key/value head with all the query heads that share it, whose gradients of keys
/// and values are therefore added in a fixed order.
template <typename T>
class BackwardItem {
 public:
  BackwardItem(const AttentionBackwardArgs& args, const Workspace& space, const Document& document,
               std::int64_t kv_head)
      : args_(args),
        space_(space),
        document_(document),
        kv_head_(kv_head),
        group_(args.heads / args.kv_heads),
        head_dim_(args.q.cols / args.heads),
        bounds_(args.bounds.row<std::int32_t>(0)) {}

  void run() {
    start();
    for (std::int64_t k = document_.first; k < document_.end; k += kTileKeys) {
      const std::int64_t n = std::min(kTileKeys, document_.end - k);
      pack_tile(k, n);
      for (std::int64_t h = 0; h < group_; ++h) {
        for (std::int64_t t = k; t < document_.end && bounds_[t] < k + n; t += kTileQueries) {
          add_tile({k, n, h, t, std::min(kTileQueries, document_.end - t)});
        }
      }
      write_keys(k, n);
    }
    finish();
  }

 private:
  template <typename View>
  auto head_rows(const View& view, std::int64_t head, std::int64_t first, std::int64_t n) const {
    auto* const data = view.template row<T>(first) + head * head_dim_;
    return Rows<std::remove_pointer_t<decltype(data)>>{data, view.stride, n, head_dim_};
  }

  std::int64_t q_head(std::int64_t h) const { return kv_head_ * group_ + h; }
  /// Row of the sums that grow with the document.
  std::int64_t row(std::int64_t h, std::int64_t token) const {
    return h * document_.tokens() + token - document_.first;
  }

  void start() {
    std::fill_n(space_.dq, group_ * document_.tokens() * space_.width, 0.0F);
    for (std::int64_t h = 0; h < group_; ++h) {
      const std::int64_t column = q_head(h) * head_dim_;
      for (std::int64_t t = document_.first; t < document_.end; ++t) {
        space_.delta[row(h, t)] =
            dot(args_.dout.row<T>(t) + column, args_.out.row<T>(t) + column, head_dim_);
      }
    }
  }

  void pack_tile(std::int64_t first, std::int64_t n) {
    const std::int64_t width = space_.width;
    pack_keys(head_rows(args_.v, kv_head_, first, n), space_.dv, width, space_.values_across);
    pack_keys(head_rows(args_.k, kv_head_, first, n), space_.keys, width, space_.keys_across);
    std::fill_n(space_.dk, n * width, 0.0F);
    std::fill_n(space_.dv, n * width, 0.0F);
  }

  void add_tile(const Tile& tile) {
    const std::int64_t head = q_head(tile.head);
    pack_rows(head_rows(args_.q, head, tile.query, tile.queries), args_.scale * kLog2E, space_.q,
              space_.width);
    pack_rows(head_rows(args_.dout, head, tile.query, tile.queries), 1.0F, space_.dout,
              space_.width);
    for (std::int64_t t = 0; t < tile.queries; t += kBlockRows) add_query_block(tile, t);
    for (std::int64_t j = 0; j < tile.n; j += kBlockRows) add_key_block(tile, j);
  }

  /// p and ds of a block of queries, from query t of the tile on, and what they add to dq.
  void add_query_block(const Tile& tile, std::int64_t t) {
    const std::int64_t rows = std::min<std::int64_t>(kBlockRows, tile.queries - t);
    const std::int64_t token = tile.query + t;
    const std::int64_t last = tile.first + tile.n;
    const std::int64_t begin = std::clamp<std::int64_t>(bounds_[token], tile.first, last);
    const std::int64_t end = std::min(token + rows, last);  // not before begin: token sees itself
    const std::int64_t offset = begin - tile.first;
    const std::int64_t columns = round_up(end - begin, kWidth);
    float* const p = space_.p + t * kScoreRow;
    float* const ds = space_.ds + t * kScoreRow;
    clear_outside(rows, p, offset, offset + columns);
    clear_outside(rows, ds, offset, offset + columns);
    if (begin == end) return;
    multiply_tile({space_.q + t * space_.width, space_.width, 1, space_.keys_across + offset,
                   kScoreRow, p + offset, kScoreRow, head_dim_, false},
                  rows, columns / kWidth);
    multiply_tile({space_.dout + t * space_.width, space_.width, 1, space_.values_across + offset,
                   kScoreRow, ds + offset, kScoreRow, head_dim_, false},
                  rows, columns / kWidth);
    const float* const lse = args_.lse.row<float>(q_head(tile.head));
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t in_row = i * kScoreRow + offset;
      const Visible visible{std::max<std::int64_t>(bounds_[token + i] - begin, 0),
                            std::min(token + i + 1, end) - begin};
      differentiate_row({p + in_row, ds + in_row, lse[token + i] * kLog2E,
                         space_.delta[row(tile.head, token + i)]},
                        columns, visible);
    }
    multiply_tile(
        {ds + offset, kScoreRow, 1, space_.keys + offset * space_.width, space_.width,
         space_.dq + row(tile.head, token) * space_.width, space_.width, end - begin, true},
        rows, space_.width / kWidth);
  }

  /// Zero in the columns [0, begin) and [end, kScoreRow) of a block of rows: blocks of keys reach
  /// over what single blocks of queries see.
  static void clear_outside(std::int64_t rows, float* block, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < rows; ++i) {
      std::fill(block + i * kScoreRow, block + i * kScoreRow + begin, 0.0F);
      std::fill(block + i * kScoreRow + end, block + (i + 1) * kScoreRow, 0.0F);
    }
  }

  /// What the queries of the tile add to dk and dv of a block of keys, from key j of the tile on.
  void add_key_block(const Tile& tile, std::int64_t j) {
    const std::int64_t rows = std::min<std::int64_t>(kBlockRows, tile.n - j);
    const std::int64_t before = std::max<std::int64_t>(tile.first + j - tile.query, 0);
    const std::int64_t depth = tile.queries - before;  // queries before key j do not see the block
    if (depth <= 0) return;
    const std::int64_t corner = before * kScoreRow + j;
    multiply_tile({space_.p + corner, 1, kScoreRow, space_.dout + before * space_.width,
                   space_.width, space_.dv + j * space_.width, space_.width, depth, true},
                  rows, space_.width / kWidth);
    multiply_tile({space_.ds + corner, 1, kScoreRow, space_.q + before * space_.width, space_.width,
                   space_.dk + j * space_.width, space_.width, depth, true},
                  rows, space_.width / kWidth);
  }

  void write_keys(std::int64_t first, std::int64_t n) {
    // The packed queries carry scale * log2(e); dk wants scale alone.
    unpack_rows(space_.dk, space_.width, kLn2, head_rows(args_.dk, kv_head_, first, n));
    unpack_rows(space_.dv, space_.width, 1.0F, head_rows(args_.dv, kv_head_, first, n));
  }

  void finish() {
    for (std::int64_t h = 0; h < group_; ++h) {
      unpack_rows(space_.dq + row(h, document_.first) * space_.width, space_.width, args_.scale,
                  head_rows(args_.dq, q_head(h), document_.first, document_.tokens()));
    }
  }

  const AttentionBackwardArgs& args_;
  const Workspace& space_;
  const Document document_;
  const std::int64_t kv_head_;
  const std::int64_t group_;
  const std::int64_t head_dim_;
  const std::int32_t* const bounds_;
};

/// The documents of a micro-batch, and the tokens of the longest.
struct Documents {
  std::int64_t count = 0;
  std::int64_t longest = 0;
};

Documents measure_documents(const ConstTensorView& bounds) {
  Documents all;
  for_each_document(bounds.row<std::int32_t>(0), bounds.cols,
                    [&](std::int64_t begin, std::int64_t end) {
                      ++all.count;
                      all.longest = std::max(all.longest, end - begin);
                    });
  return all;
}

void list_documents(const ConstTensorView& bounds, Document* list) {
  for_each_document(bounds.row<std::int32_t>(0), bounds.cols,
                    [&](std::int64_t begin, std::int64_t end) {
                      *list++ = {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
                    });
}

template <typename T>
void attention_backward_typed(Device& device, const AttentionBackwardArgs& args) {
  const std::int64_t head_dim = args.q.cols / args.heads;
  const Documents documents = measure_documents(args.bounds);
  const std::int64_t longest_rows = args.heads / args.kv_heads * documents.longest;
  const std::int64_t items = documents.count * args.kv_heads;
  const std::int64_t parts = std::min<std::int64_t>(device.threads(), items);

  ScratchCutter counter(nullptr);
  counter.take<Document>(documents.count);
  const std::int64_t list_bytes = counter.bytes();
  const Workspace unused(counter, head_dim, longest_rows);
  const std::int64_t thread_bytes = counter.bytes() - list_bytes;
  std::byte* const scratch =
      device.scratch(static_cast<std::size_t>(list_bytes + parts * thread_bytes)).data();
  auto* const list = reinterpret_cast<Document*>(scratch);
  list_documents(args.bounds, list);

  std::atomic<std::int64_t> next{0};  // items are taken as threads get free
  parallel_for(device.threads(), parts, 1, [&](std::int64_t thread, std::int64_t) {
    ScratchCutter cutter(scratch + list_bytes + thread * thread_bytes);
    const Workspace space(cutter, head_dim, longest_rows);
    for (std::int64_t item = next++; item < items; item = next++) {
      BackwardItem<T>(args, space, list[item / args.kv_heads], item % args.kv_heads).run();
    }
  });
}

}  // namespace

void attention_backward(Device& device, const AttentionBackwardArgs& args) {
  with_float(args.q.dtype, [&](auto type) {
    attention_backward_typed<typename decltype(type)::type>(device, args);
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
