#include "runtime/plan/plan_file.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kMaxBytes = 1 << 20;
constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 40;
constexpr std::string_view kRemedy =
    "remove the file to have algorithms chosen anew, or name them in comm.algo";

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::config, fmt::format("{}: {}; {}", file, what, kRemedy));
}

/// Reads members of one object and names those that are wrong.
class Members {
 public:
  Members(const Json& object, std::string prefix, const std::string& file)
      : object_(object), prefix_(std::move(prefix)), file_(file) {}

  const Json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(file_, fmt::format("key \"{}{}\" is missing", prefix_, key));
    return *found;
  }
  std::int64_t number(const char* key, std::int64_t most) const {
    const Json& value = at(key);
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (!fits) wrong(key, value, fmt::format("must be a whole number from 1 to {}", most));
    return value.get<std::int64_t>();
  }
  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) wrong(key, value, "must be a string");
    return value.get<std::string>();
  }
  Members object(const char* key) const {
    const Json& value = at(key);
    if (!value.is_object()) wrong(key, value, "must be an object");
    return {value, fmt::format("{}{}.", prefix_, key), file_};
  }
  [[noreturn]] void wrong(const char* key, const Json& value, std::string_view wanted) const {
    const std::string shown = quote(value.is_string() ? value.get<std::string>() : value.dump());
    refuse(file_, fmt::format("key \"{}{}\" is {}; {}", prefix_, key, shown, wanted));
  }

 private:
  const Json& object_;
  std::string prefix_;
  const std::string& file_;
};

std::string backend_of(const Members& members) {
  const std::vector<std::string_view> known = collectives::backend_names();
  std::string name = members.text("backend");
  if (std::ranges::find(known, name) != known.end()) return name;
  members.wrong("backend", name, fmt::format("must be one of {}", fmt::join(known, ", ")));
}

std::string algorithms_of(const Members& members, const std::string& backend) {
  std::string text = members.text("algorithms");
  if (!collectives::has_algorithms(backend)) {
    if (text.empty()) return text;
    members.wrong("algorithms", text,
                  fmt::format("must be empty, the back end {} has no choice", backend));
  }
  try {
    static_cast<void>(collectives::AlgorithmTable::parse(text));
  } catch (const Error& error) {
    members.wrong("algorithms", text,
                  fmt::format("must be a table of algorithms: {}", error.what()));
  }
  return text;
}

}  // namespace

std::string to_json(const PlanRecord& record) {
  const Json json = {{"format", kFormat},
                     {"world", record.world},
                     {"parallelism",
                      {{"data", record.data_degree},
                       {"micro_batches", record.micro_batches},
                       {"micro_batch_rows", record.micro_batch_rows}}},
                     {"backend", record.backend},
                     {"algorithms", record.algorithms}};
  return json.dump(1) + "\n";
}

PlanRecord parse_plan_record(std::string_view text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    refuse(file, fmt::format("is no JSON, or was cut off: {}", error.what()));
  }
  if (!json.is_object()) refuse(file, "is no JSON object");
  const Members members(json, "", file);
  if (members.at("format") != kFormat) {
    members.wrong("format", members.at("format"),
                  fmt::format("this program reads format {}", kFormat));
  }
  PlanRecord record;
  record.world = static_cast<int>(members.number("world", kMaxRanks));
  const Members parallelism = members.object("parallelism");
  record.data_degree = static_cast<int>(parallelism.number("data", kMaxRanks));
  record.micro_batches = parallelism.number("micro_batches", kMaxBatch);
  record.micro_batch_rows = parallelism.number("micro_batch_rows", kMaxBatch);
  record.backend = backend_of(members);
  record.algorithms = algorithms_of(members, record.backend);
  return record;
}

std::string plan_file(const std::string& output_dir) {
  return (fs::path(output_dir) / "plan.json").string();
}

std::optional<PlanRecord> read_plan_file(const std::string& output_dir) {
  const std::string path = plan_file(output_dir);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (status.type() != fs::file_type::regular) refuse(path, "is no file that can be read");
  return parse_plan_record(read_file(path, kMaxBytes), path);
}

void write_plan_file(const std::string& output_dir, const PlanRecord& record) {
  const std::string path = plan_file(output_dir);
  const std::string fresh = path + ".new";
  write_file(fresh, to_json(record));
  std::error_code error;
  fs::rename(fresh, path, error);
  if (error) {
    throw Error(ErrorCode::io,
                fmt::format("{} cannot be renamed to {}: {}", fresh, path, error.message()));
  }
  sync_folder(output_dir);
}

}  // namespace muster::runtime
