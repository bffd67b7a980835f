#include "runtime/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "runtime/config/relations.hpp"

namespace muster::runtime {
namespace {

double decay(const LrSchedulerSection& schedule, double progress) {
  const std::string& shape = schedule.type == "wsd" ? schedule.decay_type : schedule.type;
  if (shape == "cosine") return 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  if (shape == "sqrt") return 1.0 - std::sqrt(progress);
  return 1.0 - progress;
}

}  // namespace

double schedule_factor(const LrSchedulerSection& schedule, std::int64_t step, std::int64_t steps) {
  if (step < schedule.warmup_steps) {
    const std::int64_t counted = schedule.first_step == "one" ? step + 1 : step;
    return static_cast<double>(counted) / static_cast<double>(schedule.warmup_steps);
  }
  const std::int64_t last = decay_steps(schedule, steps);
  const std::int64_t begin = steps - last;
  if (last == 0 || step < begin) return 1.0;
  const double progress =
      std::min(1.0, static_cast<double>(step - begin) / static_cast<double>(last));
  return schedule.min_lr_factor + (1.0 - schedule.min_lr_factor) * decay(schedule, progress);
}

}  // namespace muster::runtime
