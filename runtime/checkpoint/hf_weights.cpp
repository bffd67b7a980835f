#include "runtime/checkpoint/hf_weights.hpp"

#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/convert.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t kMaxHfIndexBytes = 1 << 28;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::config, text);
}

bool is_present(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

bool is_ignored(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

/// tensor -> file of model.safetensors.index.json.
std::map<std::string, std::string> read_weight_map(const std::string& path) {
  const Json json = Json::parse(read_file(path, kMaxHfIndexBytes), nullptr, false);
  const bool has_map = json.is_object() && json.contains("weight_map") &&
                       json.at("weight_map").is_object() && !json.at("weight_map").empty();
  if (!has_map) refuse(fmt::format("{} has no \"weight_map\" of tensors to files", path));
  std::map<std::string, std::string> map;
  for (const auto& [tensor, file] : json.at("weight_map").items()) {
    if (!file.is_string()) {
      refuse(fmt::format("{}: the file of tensor {} is not a string", path, quote(tensor)));
    }
    const auto name = file.get<std::string>();
    const bool is_plain =
        !name.empty() && name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (!is_plain) {
      refuse(fmt::format("{}: tensor {} is in file {}, which is not a name inside the folder", path,
                         quote(tensor), quote(name)));
    }
    map.emplace(tensor, name);
  }
  return map;
}

}  // namespace

HfWeights::HfWeights(const std::string& folder) : folder_(folder) {
  const fs::path single = fs::path(folder) / "model.safetensors";
  const fs::path index = fs::path(folder) / "model.safetensors.index.json";
  if (is_present(single)) {
    add_file(single.string());
  } else if (is_present(index)) {
    read_index(index.string());
  } else {
    const bool has_pickle = is_present(fs::path(folder) / "pytorch_model.bin");
    refuse(
        fmt::format("{} has neither model.safetensors nor model.safetensors.index.json{}", folder,
                    has_pickle ? "; pytorch_model.bin is not read, save it as safetensors" : ""));
  }
}

void HfWeights::add_file(const std::string& path) {
  const SafetensorsFile& file = *files_.emplace_back(std::make_unique<SafetensorsFile>(path));
  for (const TensorInfo& tensor : file.tensors()) {
    if (is_ignored(tensor.name)) continue;
    const auto [other, is_new] = tensors_.emplace(tensor.name, Place{&file, &tensor});
    if (!is_new) {
      refuse(fmt::format("tensor {} is in two files, {} and {}", quote(tensor.name),
                         other->second.file->file().path(), path));
    }
  }
}

void HfWeights::read_index(const std::string& path) {
  const std::map<std::string, std::string> map = read_weight_map(path);
  std::set<std::string> files;
  for (const auto& [tensor, file] : map) files.insert(file);
  for (const std::string& file : files) add_file((fs::path(folder_) / file).string());
  for (const auto& [tensor, file] : map) {
    if (is_ignored(tensor)) continue;
    const auto found = tensors_.find(tensor);
    const bool is_there =
        found != tensors_.end() && fs::path(found->second.file->file().path()).filename() == file;
    if (!is_there) {
      refuse(fmt::format("{}: tensor {} should be in {} but is not", path, quote(tensor), file));
    }
  }
}

std::vector<std::string> HfWeights::names() const {
  std::vector<std::string> all;
  for (const auto& [name, place] : tensors_) all.push_back(name);
  return all;
}

const HfWeights::Place& HfWeights::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  const std::string near = nearest(name, names());
  refuse(fmt::format("{} has no tensor {}{}", folder_, quote(name),
                     near.empty() ? "" : fmt::format("; nearest: {}", quote(near))));
}

const std::vector<std::int64_t>& HfWeights::shape(std::string_view name) const {
  return find(name).info->shape;
}

Dtype HfWeights::dtype(std::string_view name) const {
  const Place& place = find(name);
  if (place.info->dtype) return *place.info->dtype;
  refuse(fmt::format("tensor {} in {} is {}, which is not supported", quote(name),
                     place.file->file().path(), place.info->dtype_name));
}

void HfWeights::read(std::string_view name, std::int64_t begin, std::int64_t count, Dtype to,
                     void* out) const {
  const Place& place = find(name);
  const Dtype from = dtype(name);
  const std::int64_t total = place.info->count;
  if (begin < 0 || count < 0 || begin > total || count > total - begin) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("elements [{}, {} + {}) of tensor {}, which has {}", begin, begin,
                            count, quote(name), total));
  }
  read_as({&place.file->file(), place.info->offset, from, begin, count}, to, out,
          "tensor " + quote(name));
}

}  // namespace muster::runtime
