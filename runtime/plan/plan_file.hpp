#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::runtime {

/// What a run is remembered by (plan.json in its output folder), so that another one there moves
/// its data in the same way, bit by bit.
struct PlanRecord {
  int world = 1;        // ranks
  int data_degree = 1;  // of them, those that hold the whole model each
  std::int64_t micro_batches = 1;
  std::int64_t micro_batch_rows = 1;
  std::string backend;     // what moved the data: "tcp"
  std::string algorithms;  // collectives::AlgorithmTable::to_text(); empty without a choice

  bool operator==(const PlanRecord&) const = default;
};

std::string to_json(const PlanRecord& record);

/// The inverse of to_json. Error(config) names `file`, the key and its value where one is missing
/// or wrong, and what to do.
PlanRecord parse_plan_record(std::string_view text, const std::string& file);

/// Path of the record below an output folder.
std::string plan_file(const std::string& output_dir);

/// The record of an output folder; nullopt where none is. Error(config) as parse_plan_record(), and
/// for what is no regular file, cannot be read or has more than 1 MiB.
std::optional<PlanRecord> read_plan_file(const std::string& output_dir);

/// Writes or replaces the record in one go: a reader finds the old or the new one whole. Error(io).
void write_plan_file(const std::string& output_dir, const PlanRecord& record);

}  // namespace muster::runtime
