#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

struct FileDtype {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<Dtype> dtype;
};

constexpr std::array<FileDtype, 16> kDtypes = {{
    {"F64", 8, Dtype::f64},
    {"F32", 4, Dtype::f32},
    {"F16", 2, Dtype::f16},
    {"BF16", 2, Dtype::bf16},
    {"I64", 8, Dtype::i64},
    {"I32", 4, Dtype::i32},
    {"I8", 1, Dtype::i8},
    {"U8", 1, Dtype::u8},
    {"I16", 2, std::nullopt},
    {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},
    {"BOOL", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
}};

/// An entry of the header as it stands there, and where (bytes into the JSON text are unknown to
/// the events of the parser, so messages name the tensor).
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // begin and end, relative to the data
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
};

/// Takes the entries out of the header's JSON events. The wanted form has three levels: the object
/// of tensors, the object of one tensor, the lists in it; everything else is refused at once.
class HeaderTaker final : public nlohmann::json_sax<Json> {
 public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string problem;
  std::size_t byte = 0;  // of a problem that is no JSON, counted from 1

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is no integer in [0, 2^64)");
  }
  bool binary(binary_t&) override { return unexpected("binary"); }
  bool number_integer(number_integer_t) override {
    return unexpected("a number that is no integer in [0, 2^64)");
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == nullptr) return unexpected("a number");
    list_->push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      if (!metadata.emplace(key_, text).second) return twice(key_);
      return true;
    }
    if (depth_ != 2 || key_ != "dtype") return unexpected("a string");
    if (std::exchange(entries.back().has_dtype, true)) return twice(key_);
    entries.back().dtype = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ >= 2) return unexpected("an object");
    if (depth_ == 1) {
      if (!names_.insert(key_).second) return refuse(fmt::format("has {} twice", quote(key_)));
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) entries.push_back({.name = key_});
    }
    ++depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr) return unexpected("a list");
    Entry& entry = entries.back();
    if (key_ == "shape") {
      if (std::exchange(entry.has_shape, true)) return twice(key_);
      list_ = &entry.shape;
    } else if (key_ == "data_offsets") {
      if (std::exchange(entry.has_offsets, true)) return twice(key_);
      list_ = &entry.offsets;
    } else {
      return unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    return true;
  }

  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    byte = at;
    return refuse("is not JSON");
  }

 private:
  bool refuse(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool twice(const std::string& member) {
    return refuse(fmt::format("has {} of {} twice", quote(member), owner()));
  }
  bool unexpected(std::string_view kind) {
    return refuse(
        fmt::format("has {} where none belongs, at {} of {}", kind, quote(key_), owner()));
  }
  std::string owner() const {
    if (depth_ < 2) return "the outermost object";
    return in_metadata_ ? "__metadata__" : quote(entries.back().name);
  }

  std::set<std::string> names_;
  std::string key_;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::vector<std::uint64_t>* list_ = nullptr;  // being filled
};

[[noreturn]] void refuse(const InputFile& file, const std::string& text) {
  throw Error(ErrorCode::config,
              fmt::format("{} is not a safetensors file: {}", file.path(), text));
}

/// The JSON text of the header. Nothing is allocated before its length is known to fit the file.
std::string read_text(const InputFile& file) {
  if (file.bytes() < kLengthBytes) {
    refuse(file, fmt::format("it has {} bytes and must begin with 8 bytes of header length",
                             file.bytes()));
  }
  std::array<std::byte, kLengthBytes> raw{};
  file.read(0, raw);
  std::uint64_t length = 0;
  for (std::size_t i = raw.size(); i-- > 0;) length = (length << 8) | std::to_integer<int>(raw[i]);
  if (length > kMaxHeaderBytes) {
    refuse(file, fmt::format("the header length at offset 0 is {}, above the limit of {}", length,
                             kMaxHeaderBytes));
  }
  const auto rest = static_cast<std::uint64_t>(file.bytes() - kLengthBytes);
  if (length > rest) {
    refuse(file,
           fmt::format("the header at offset 8 must have {} bytes but the file ends after {}; "
                       "it may have been cut off",
                       length, rest));
  }
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  if (!text.starts_with('{')) {
    refuse(file, fmt::format("the header at offset 8 must begin with '{{' and begins with {}",
                             quote(text.substr(0, 1))));
  }
  return text;
}

const FileDtype& find_dtype(const InputFile& file, const Entry& entry) {
  const auto found = std::ranges::find(kDtypes, entry.dtype, &FileDtype::name);
  if (found != kDtypes.end()) return *found;
  std::string known;
  for (const FileDtype& dtype : kDtypes)
    known += (known.empty() ? "" : ", ") + std::string(dtype.name);
  refuse(file, fmt::format("tensor {} has dtype {}; known are {}", quote(entry.name),
                           quote(entry.dtype), known));
}

void check_members(const InputFile& file, const Entry& entry) {
  const char* missing = !entry.has_dtype     ? "dtype"
                        : !entry.has_shape   ? "shape"
                        : !entry.has_offsets ? "data_offsets"
                                             : nullptr;
  if (missing != nullptr) {
    refuse(file, fmt::format("tensor {} has no \"{}\"", quote(entry.name), missing));
  }
  if (entry.offsets.size() != 2) {
    refuse(file, fmt::format("tensor {} has {} data_offsets; it must have 2", quote(entry.name),
                             entry.offsets.size()));
  }
}

/// Checks one entry against a file with `data_bytes` bytes of data from offset `data_begin`.
TensorInfo check_entry(const InputFile& file, const Entry& entry, std::int64_t data_begin) {
  check_members(file, entry);
  const FileDtype& dtype = find_dtype(file, entry);
  std::uint64_t bytes = dtype.bytes;
  for (const std::uint64_t size : entry.shape) {
    if (size > kMaxSize || __builtin_mul_overflow(bytes, size, &bytes)) {
      refuse(file, fmt::format("the shape [{}] of tensor {} overflows 64 bits",
                               fmt::join(entry.shape, ", "), quote(entry.name)));
    }
  }
  const auto [begin, end] = std::pair(entry.offsets[0], entry.offsets[1]);
  const auto data_bytes = static_cast<std::uint64_t>(file.bytes() - data_begin);
  if (begin > end || end > data_bytes) {
    refuse(file,
           fmt::format("tensor {} has data_offsets [{}, {}], outside the {} bytes of data that "
                       "begin at offset {}; the file may have been cut off",
                       quote(entry.name), begin, end, data_bytes, data_begin));
  }
  if (bytes != end - begin) {
    refuse(file,
           fmt::format("tensor {} of {} [{}] needs {} bytes; its data_offsets [{}, {}] hold {}",
                       quote(entry.name), dtype.name, fmt::join(entry.shape, ", "), bytes, begin,
                       end, end - begin));
  }
  TensorInfo info;
  info.name = entry.name;
  info.dtype_name = dtype.name;
  info.dtype = dtype.dtype;
  for (const std::uint64_t size : entry.shape)
    info.shape.push_back(static_cast<std::int64_t>(size));
  info.count = static_cast<std::int64_t>(bytes / dtype.bytes);
  info.offset = data_begin + static_cast<std::int64_t>(begin);
  info.bytes = static_cast<std::int64_t>(bytes);
  return info;
}

/// Tensors sorted by offset must follow one another from the header's end to the file's end.
void check_layout(const InputFile& file, const std::vector<TensorInfo>& tensors,
                  std::int64_t data_begin) {
  std::int64_t at = data_begin;
  std::string before = "the header";
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset != at) {
      refuse(file, fmt::format("tensor {} begins at offset {}; {} ends at {}, so they {}",
                               quote(tensor.name), tensor.offset, before, at,
                               tensor.offset < at ? "overlap" : "leave a hole"));
    }
    at += tensor.bytes;
    before = "tensor " + quote(tensor.name);
  }
  if (at != file.bytes()) {
    refuse(file,
           fmt::format("{} bytes follow {} that ends at offset {}", file.bytes() - at, before, at));
  }
}

}  // namespace

std::string_view safetensors_name(Dtype dtype) noexcept {
  const auto found = std::ranges::find(kDtypes, std::optional(dtype), &FileDtype::dtype);
  return found->name;
}

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  const std::string text = read_text(file);
  HeaderTaker taker;
  if (!Json::sax_parse(text, &taker)) {
    const std::string place =
        taker.byte == 0 ? "" : fmt::format(", at offset {}", taker.byte + kLengthBytes - 1);
    refuse(file, fmt::format("the header at offset 8 ({} bytes) {}{}", text.size(), taker.problem,
                             place));
  }
  const std::int64_t data_begin = kLengthBytes + static_cast<std::int64_t>(text.size());
  SafetensorsHeader header;
  for (const Entry& entry : taker.entries) {
    header.tensors.push_back(check_entry(file, entry, data_begin));
  }
  // Tensors without bytes stand before those that begin at the same place.
  std::ranges::sort(header.tensors, {}, [](const TensorInfo& tensor) {
    return std::pair(tensor.offset, tensor.bytes);
  });
  check_layout(file, header.tensors, data_begin);
  header.metadata = std::move(taker.metadata);
  return header;
}

}  // namespace muster::runtime
