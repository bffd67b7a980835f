#include "runtime/checkpoint/index.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

[[noreturn]] void refuse(const std::string& file, const std::string& text) {
  throw Error(ErrorCode::config,
              fmt::format("{} is not the index of a checkpoint: {}", file, text));
}

Json to_json(const IndexEntry& entry) {
  Json chunks = Json::array();
  for (const IndexChunk& chunk : entry.chunks) {
    chunks.push_back({{"file", chunk.file},
                      {"begin", chunk.begin},
                      {"len", chunk.count},
                      {"xxh64", chunk.hash}});
  }
  return {{"dtype", std::string(to_string(entry.dtype))},
          {"global_shape", entry.shape},
          {"chunks", std::move(chunks)}};
}

/// The number of elements; negative when the shape is no shape or overflows.
std::int64_t element_count(const std::vector<std::int64_t>& shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

IndexEntry parse_entry(const Json& json, const std::string& key, const std::string& file) {
  IndexEntry entry;
  const auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  if (!dtype) refuse(file, fmt::format("{} has dtype {}", quote(key), json.at("dtype").dump()));
  entry.dtype = *dtype;
  json.at("global_shape").get_to(entry.shape);
  const std::int64_t total = element_count(entry.shape);
  if (total < 0) {
    refuse(file, fmt::format("{} has shape [{}]", quote(key), fmt::join(entry.shape, ", ")));
  }
  for (const Json& item : json.at("chunks")) {
    IndexChunk chunk;
    item.at("file").get_to(chunk.file);
    item.at("begin").get_to(chunk.begin);
    item.at("len").get_to(chunk.count);
    item.at("xxh64").get_to(chunk.hash);
    const bool is_inside = chunk.begin >= 0 && chunk.count >= 0 && chunk.begin <= total &&
                           chunk.count <= total - chunk.begin;
    if (!is_inside || chunk.file.find('/') != std::string::npos) {
      refuse(file, fmt::format("{} has a chunk of {} elements from {} in file {}, outside its {} "
                               "elements or the folder",
                               quote(key), chunk.count, chunk.begin, quote(chunk.file), total));
    }
    entry.chunks.push_back(std::move(chunk));
  }
  return entry;
}

}  // namespace

std::int64_t IndexEntry::count() const noexcept {
  return element_count(shape);
}

std::string entry_key(std::string_view name, std::string_view state) {
  return fmt::format("{}/{}", state, name);
}

std::string chunk_key(std::string_view entry, std::int64_t begin) {
  return fmt::format("{}@{}", entry, begin);
}

std::string to_json(const Index& index) {
  // One line per entry: a person can find a tensor in it.
  std::string text = fmt::format("{{\"format\": {},\n\"tensors\": {{", kFormat);
  const char* separator = "\n";
  for (const auto& [key, entry] : index) {
    text += fmt::format("{}{}: {}", separator, Json(key).dump(), to_json(entry).dump());
    separator = ",\n";
  }
  return text + "\n}}\n";
}

Index parse_index(std::string_view text, const std::string& file) {
  Index index;
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat) {
      refuse(file, fmt::format("format {}; this program reads format {}", json.at("format").dump(),
                               kFormat));
    }
    for (const auto& [key, entry] : json.at("tensors").items()) {
      index.emplace(key, parse_entry(entry, key, file));
    }
  } catch (const Json::exception& error) {
    refuse(file, error.what());
  }
  return index;
}

void merge(Index& index, const Index& part) {
  for (const auto& [key, entry] : part) {
    const auto [mine, is_new] = index.emplace(key, entry);
    if (is_new) continue;
    if (mine->second.dtype != entry.dtype || mine->second.shape != entry.shape) {
      throw Error(ErrorCode::io,
                  fmt::format("ranks disagree about {}: {} [{}] and {} [{}]", quote(key),
                              to_string(mine->second.dtype), fmt::join(mine->second.shape, ", "),
                              to_string(entry.dtype), fmt::join(entry.shape, ", ")));
    }
    mine->second.chunks.insert(mine->second.chunks.end(), entry.chunks.begin(), entry.chunks.end());
  }
}

void check_cover(Index& index) {
  for (auto& [key, entry] : index) {
    std::ranges::sort(entry.chunks, {}, &IndexChunk::begin);
    std::int64_t next = 0;
    const auto complain = [&, &name = key](std::string_view what) {
      throw Error(ErrorCode::io, fmt::format("element {} of {} is {}", next, quote(name), what));
    };
    for (const IndexChunk& chunk : entry.chunks) {
      if (chunk.begin > next) complain("in no chunk");
      if (chunk.begin < next) complain("in two chunks");
      next += chunk.count;
    }
    if (next < entry.count()) complain("in no chunk");
  }
}

}  // namespace muster::runtime
