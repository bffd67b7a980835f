#include <cmath>

#include <fmt/format.h>

#include "runtime/config/job.hpp"
#include "runtime/config/keys.hpp"

namespace muster::runtime {
namespace {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_list(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) {
    text += (text.size() > 1 ? ", " : "") + toml_string(value);
  }
  return text + ']';
}

struct ToToml {
  std::string operator()(const std::string* value) const { return toml_string(*value); }
  std::string operator()(const std::int64_t* value) const { return std::to_string(*value); }
  std::string operator()(const double* value) const { return toml_number(*value); }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const Precision* value) const { return toml_string(to_string(*value)); }
  std::string operator()(const std::vector<std::string>* value) const { return toml_list(*value); }
};

struct TypeName {
  std::string operator()(const std::string*) const { return "string"; }
  std::string operator()(const std::int64_t*) const { return "integer"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const bool*) const { return "boolean"; }
  std::string operator()(const Precision*) const { return "string"; }
  std::string operator()(const std::vector<std::string>*) const { return "list of strings"; }
};

template <typename Owner>
KeyInfo key_info(const Key<Owner>& key) {
  Owner defaults;
  const Field field = key.field(defaults);
  return {.name = std::string(key.name),
          .type = std::visit(TypeName{}, field),
          .default_value = key.is_required ? "" : std::visit(ToToml{}, field),
          .allowed = describe(key.limits),
          .meaning = std::string(key.meaning)};
}

void append_sources(std::string& out, const std::vector<DataSource>& sources) {
  // NOLINTNEXTLINE(performance-for-range-copy): field() asks for what it may change
  for (DataSource source : sources) {
    out += "\n[[data.train]]\n";
    for (const auto& key : source_key_table()) {
      out += fmt::format("{} = {}\n", key.name.substr(key.name.rfind('.') + 1),
                         std::visit(ToToml{}, key.field(source)));
    }
  }
}

}  // namespace

std::string_view to_string(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
  }
  return "unknown";
}

std::string to_toml(const JobConfig& job) {
  JobConfig copy = job;  // keys hand out mutable fields
  std::string out;
  std::string_view section;
  for (const auto& key : job_key_table()) {
    if (!job.model.path.empty() && is_shape_key(key.name)) continue;
    const std::size_t dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      if (section == "data") append_sources(out, job.data.train);
      section = key.name.substr(0, dot);
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    out +=
        fmt::format("{} = {}\n", key.name.substr(dot + 1), std::visit(ToToml{}, key.field(copy)));
  }
  return out;
}

std::vector<KeyInfo> job_keys() {
  std::vector<KeyInfo> infos;
  std::string_view section;
  for (const auto& key : job_key_table()) {
    const bool is_data_over = section == "data" && !key.name.starts_with("data.");
    if (is_data_over) {
      for (const auto& source : source_key_table()) infos.push_back(key_info(source));
    }
    section = key.name.substr(0, key.name.find('.'));
    infos.push_back(key_info(key));
  }
  return infos;
}

}  // namespace muster::runtime
