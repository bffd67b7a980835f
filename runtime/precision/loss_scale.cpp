#include "runtime/precision/loss_scale.hpp"

#include <algorithm>
#include <limits>

namespace muster::runtime {

LossScale::LossScale(const LossScaleSection& section, bool is_enabled)
    : section_(section), is_enabled_(is_enabled) {
  if (is_enabled_) state_.scale = section.init;
}

void LossScale::restore(const LossScaleState& state) noexcept {
  if (is_enabled_) state_ = state;
}

void LossScale::after_step(bool is_skipped) noexcept {
  if (!is_enabled_) return;
  if (is_skipped) {
    const bool is_at_min = state_.scale <= section_.min;
    state_.skips_at_min = is_at_min ? state_.skips_at_min + 1 : 0;
    state_.scale = std::max(state_.scale * section_.backoff, section_.min);
    state_.clean_steps = 0;
    return;
  }
  state_.skips_at_min = 0;
  if (++state_.clean_steps < section_.interval) return;
  state_.clean_steps = 0;
  const double grown = state_.scale * section_.growth;
  if (grown <= static_cast<double>(std::numeric_limits<float>::max())) state_.scale = grown;
}

}  // namespace muster::runtime
