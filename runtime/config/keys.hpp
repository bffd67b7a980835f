#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config/job.hpp"
#include "runtime/config/limits.hpp"

namespace muster::runtime {

/// A place in a JobConfig that a key sets.
using Field = std::variant<std::string*, std::int64_t*, double*, bool*, Precision*,
                           std::vector<std::string>*>;

/// A key of the job file: one row of the table that drives parsing, checking, printing and docs.
template <typename Owner>
struct Key {
  std::string_view name;  // "training.steps"
  Field (*field)(Owner&);
  Limits limits;
  bool is_required;
  std::string_view meaning;
};

/// All keys but those of [[data.train]], section by section.
std::span<const Key<JobConfig>> job_key_table();

/// The keys of one [[data.train]], named "data.train.path", ….
std::span<const Key<DataSource>> source_key_table();

/// The shape of a model without a path: these keys contradict model.path.
bool is_shape_key(std::string_view name);

/// The names of all keys.
std::vector<std::string> key_names();

/// The names of all sections.
std::vector<std::string> section_names();

/// The key that an unknown `name` ("training.lr", or "lr" alone) was probably meant to be: the same
/// word in another section, another tool's word for it, or the nearest spelling. Empty if none is.
std::string suggest_key(std::string_view name);

}  // namespace muster::runtime
