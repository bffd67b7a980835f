#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/dtype.hpp"

namespace muster::runtime {

/// Where a flat range of a tensor lies: in `file` under the name chunk_key(entry, begin).
struct IndexChunk {
  std::string file;  // name inside the checkpoint's folder
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::string hash;  // of its bytes
};

struct IndexEntry {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::vector<IndexChunk> chunks;

  std::int64_t count() const noexcept;
};

/// index.json: what a checkpoint holds. Keys are "state/name".
using Index = std::map<std::string, IndexEntry, std::less<>>;

/// A longer index.json is refused unread.
constexpr std::int64_t kMaxIndexBytes = std::int64_t{1} << 32;

/// "param/model.norm.weight", and "param/model.norm.weight@4096".
std::string entry_key(std::string_view name, std::string_view state);
std::string chunk_key(std::string_view entry, std::int64_t begin);

std::string to_json(const Index& index);

/// The inverse of to_json. Error(config) names `file` and what is missing, wrong or negative.
Index parse_index(std::string_view text, const std::string& file);

/// Adds the chunks of `part` to `index`. Error(io) names the entry whose dtype or shape differs.
void merge(Index& index, const Index& part);

/// Sorts the chunks of every entry and checks that they cover it once. Error(io) names the entry
/// and the first element that is missing or there twice.
void check_cover(Index& index);

}  // namespace muster::runtime
