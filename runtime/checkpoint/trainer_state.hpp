#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::runtime {

/// What a checkpoint keeps beside the tensors (trainer.json).
struct TrainerState {
  std::int64_t step = 0;     // steps done, also those that were skipped
  std::int64_t updates = 0;  // steps not skipped: where the schedule and the optimiser stand
  std::int64_t tokens = 0;   // target tokens seen
  std::int64_t samples = 0;  // data cursor: the next global sample number
  std::int64_t seed = 0;
  double loss_scale = 1.0;
  std::int64_t clean_steps = 0;
  std::int64_t skips_at_min = 0;
  int world = 1;       // ranks that wrote it; any number may read it
  std::string config;  // the job as TOML, with its defaults
};

std::string to_json(const TrainerState& state);

/// The inverse of to_json. Error(config) names `file` and the member that is missing or wrong.
TrainerState parse_trainer_state(std::string_view text, const std::string& file);

}  // namespace muster::runtime
