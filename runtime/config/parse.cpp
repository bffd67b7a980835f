#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "kernels/base/error.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/findings.hpp"
#include "runtime/config/job.hpp"
#include "runtime/config/keys.hpp"
#include "runtime/config/names.hpp"
#include "runtime/config/relations.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kMaxFileBytes = 1 << 20;

std::string describe_value(const toml::node& node) {
  if (const auto* text = node.as_string()) return "a string " + quote(text->get());
  if (const auto* number = node.as_integer()) return fmt::format("an integer {}", number->get());
  if (const auto* number = node.as_floating_point()) {
    return fmt::format("a number with a point {}", number->get());
  }
  if (const auto* flag = node.as_boolean()) return fmt::format("a boolean {}", flag->get());
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  return "a date or time";
}

/// Stores a TOML value in a field of any type; returns the complaint if it does not fit.
class Assign {
 public:
  Assign(const toml::node& node, const Limits& limits) : node_(node), limits_(limits) {}

  std::string operator()(std::string* out) const {
    const auto* step = node_.as_integer();
    if (step != nullptr && limits_.takes_step) return store(out, std::to_string(step->get()));
    const auto* text = node_.as_string();
    return text == nullptr ? wrong_type("a string") : store(out, text->get());
  }
  std::string operator()(std::int64_t* out) const {
    const auto* number = node_.as_integer();
    if (number == nullptr) return wrong_type("an integer");
    std::string wrong = complaint(static_cast<double>(number->get()), limits_);
    if (wrong.empty()) *out = number->get();
    return wrong;
  }
  std::string operator()(double* out) const {
    const std::optional<double> number = node_.value<double>();
    if (!node_.is_number() || !number) return wrong_type("a number");
    std::string wrong = complaint(*number, limits_);
    if (wrong.empty()) *out = *number;
    return wrong;
  }
  std::string operator()(bool* out) const {
    const auto* flag = node_.as_boolean();
    if (flag == nullptr) return wrong_type("true or false");
    *out = flag->get();
    return {};
  }
  std::string operator()(Precision* out) const {
    std::string text;
    std::string wrong = (*this)(&text);
    if (!wrong.empty()) return wrong;
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
      if (to_string(precision) == text) *out = precision;
    }
    return {};
  }
  std::string operator()(std::vector<std::string>* out) const {
    const auto* list = node_.as_array();
    if (list == nullptr) return wrong_type("a list of strings");
    std::vector<std::string> all;
    for (const toml::node& element : *list) {
      const auto* text = element.as_string();
      if (text == nullptr) return "must be a list of strings, has " + describe_value(element);
      all.push_back(text->get());
    }
    *out = std::move(all);
    return {};
  }

 private:
  std::string wrong_type(std::string_view wanted) const {
    return fmt::format("must be {}, is {}", wanted, describe_value(node_));
  }
  std::string store(std::string* out, const std::string& text) const {
    std::string wrong = complaint(text, limits_);
    if (wrong.empty()) *out = text;
    return wrong;
  }

  const toml::node& node_;
  const Limits& limits_;
};

std::string with_hint(std::string_view what, const std::string& hint) {
  return hint.empty() ? std::string(what) : fmt::format("{}; nearest: {}", what, quote(hint));
}

/// Fills a JobConfig from a parsed file and from overrides, and collects what is wrong.
class Reader {
 public:
  explicit Reader(const std::string& file) : findings_(file) {
    job_.file = file;
    base_ = std::filesystem::absolute(file).parent_path();
  }

  void read_file_table(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string section(key.str());
      const Origin origin = place(key.source());
      if (!is_section(section)) {
        report_unknown_section(section, node, origin);
      } else if (const auto* table = node.as_table()) {
        findings_.note(section, origin);
        read_section(section, *table);
      } else {
        findings_.add(section, origin,
                      fmt::format("must be a section [{}], is {}", section, describe_value(node)));
      }
    }
  }

  void apply_override(const std::string& text) {
    override_ = Findings::in_override(text);
    base_ = std::filesystem::current_path();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      findings_.add_line(*override_, "must have the form section.key=value");
      return;
    }
    const std::string name = text.substr(0, equals);
    if (const auto table = parse_value(name, text.substr(equals + 1))) {
      set_override(name, *table->get("value"));
    }
  }

  JobConfig finish() {
    for (const DataSource& source : job_.data.train) {
      if (source.path.empty() && findings_.are_good({"data.train", "data.train.path"})) {
        findings_.add("data.train", "has a table without a path");
      }
    }
    check_relations(job_, findings_);
    findings_.throw_if_any();
    return std::move(job_);
  }

 private:
  Origin place(const toml::source_region& region) const {
    return override_ ? *override_ : findings_.in_file(region.begin.line, region.begin.column);
  }

  static bool is_section(const std::string& name) {
    const std::vector<std::string> known = section_names();
    return std::ranges::find(known, name) != known.end();
  }

  void report_unknown_section(const std::string& name, const toml::node& node,
                              const Origin& origin) {
    if (!node.is_table() && !node.is_array_of_tables()) {
      findings_.add(name, origin, with_hint("is unknown outside a section", suggest_key(name)));
      return;
    }
    findings_.add_line(origin, with_hint(fmt::format("section {} is unknown", quote(name)),
                                         nearest(name, section_names())));
  }

  void read_section(const std::string& section, const toml::table& table) {
    for (const auto& [key, node] : table) {
      set(fmt::format("{}.{}", section, key.str()), node, place(key.source()));
    }
  }

  void set(const std::string& name, const toml::node& node, const Origin& origin) {
    findings_.note(name, origin);
    if (name == "data.train") {
      read_sources(node, origin);
    } else {
      set_from_table(job_key_table(), job_, name, node);
    }
  }

  /// Sets the field of `owner` that `name` stands for; an unknown name is a finding.
  template <typename Owner>
  void set_from_table(std::span<const Key<Owner>> table, Owner& owner, const std::string& name,
                      const toml::node& node) {
    const auto key = std::ranges::find(table, std::string_view(name), &Key<Owner>::name);
    if (key == table.end()) {
      findings_.add(name, with_hint("is unknown", suggest_key(name)));
      return;
    }
    const Field field = key->field(owner);
    const std::string wrong = std::visit(Assign(node, key->limits), field);
    if (!wrong.empty()) {
      findings_.add(name, wrong);
    } else if (key->limits.is_path) {
      make_absolute(*std::get<std::string*>(field));
    }
  }

  void make_absolute(std::string& path) const {
    if (!path.empty()) path = (base_ / path).lexically_normal().string();
  }

  void read_sources(const toml::node& node, const Origin& origin) {
    const auto* list = node.as_array();
    if (list == nullptr || (!list->empty() && !node.is_array_of_tables())) {
      findings_.add(
          "data.train", origin,
          fmt::format("must be a list of tables, is {}; write [[data.train]] and under it "
                      "path = \"FILE\"",
                      describe_value(node)));
      return;
    }
    job_.data.train.clear();
    for (const toml::node& element : *list) {
      DataSource source;
      for (const auto& [key, value] : *element.as_table()) {
        const std::string name = fmt::format("data.train.{}", key.str());
        findings_.note(name, place(key.source()));
        set_from_table(source_key_table(), source, name, value);
      }
      job_.data.train.push_back(std::move(source));
    }
  }

  /// An override's value as the member "value" of a table.
  std::optional<toml::table> parse_value(const std::string& name, const std::string& text) {
    const bool is_bare = takes_bare_text(name) && !text.starts_with('"') && !text.starts_with('\'');
    if (is_bare) return toml::table{{"value", text}};
    try {
      return toml::parse("value = " + text);
    } catch (const toml::parse_error& error) {
      findings_.add(name, *override_,
                    fmt::format("has a value that is not TOML: {}", error.description()));
      return std::nullopt;
    }
  }

  /// A string key takes text without quotes. So does an unknown key: that it is unknown is worth
  /// more than what is wrong with its value.
  static bool takes_bare_text(const std::string& name) {
    if (name == "data.train") return false;
    const auto table = job_key_table();
    const auto key = std::ranges::find(table, std::string_view(name), &Key<JobConfig>::name);
    if (key == table.end()) return true;
    JobConfig any;
    const Field field = key->field(any);
    return std::holds_alternative<std::string*>(field) || std::holds_alternative<Precision*>(field);
  }

  void set_override(const std::string& name, const toml::node& node) {
    if (!name.starts_with("data.train.")) {
      set(name, node, *override_);
      return;
    }
    findings_.note(name, *override_);
    std::vector<DataSource>& sources = job_.data.train;
    if (sources.size() > 1) {
      findings_.add(name, fmt::format("would set one of {} sources; give them all as "
                                      "data.train=[{{path=\"A\"}}, …]",
                                      sources.size()));
      return;
    }
    if (sources.empty()) sources.emplace_back();
    set_from_table(source_key_table(), sources.front(), name, node);
  }

  JobConfig job_;
  Findings findings_;
  std::filesystem::path base_;      // where relative paths start
  std::optional<Origin> override_;  // set while overrides are applied
};

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw Error(ErrorCode::config, fmt::format("the job {0} is not TOML\n{0}:{1}:{2}: {3}", file,
                                               at.line, at.column, error.description()));
  }
}

}  // namespace

JobConfig parse_job(std::string_view text, const std::string& file,
                    const std::vector<std::string>& overrides) {
  Reader reader(file);
  reader.read_file_table(parse_toml(text, file));
  for (const std::string& text_of_one : overrides) reader.apply_override(text_of_one);
  return reader.finish();
}

JobConfig load_job(const std::string& path, const std::vector<std::string>& overrides) {
  return parse_job(read_file(path, kMaxFileBytes), path, overrides);
}

}  // namespace muster::runtime
