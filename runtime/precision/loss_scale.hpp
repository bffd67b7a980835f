#pragma once

#include <cstdint>

#include "runtime/config/job.hpp"

namespace muster::runtime {

/// What a checkpoint keeps of a LossScale.
struct LossScaleState {
  double scale = 1.0;
  std::int64_t clean_steps = 0;   // in a row since the scale last changed
  std::int64_t skips_at_min = 0;  // in a row, with the scale at its minimum before the step
};

/// The factor of the loss that keeps fp16 gradients from vanishing, found by trial: it grows after
/// `interval` clean steps in a row and falls after a step that overflowed, which must be skipped.
/// Every rank sees the same overflows, so every rank has the same scale. One thread at a time.
///
///   skipped step   scale = max(scale * backoff, min), clean steps = 0
///   clean step     after `interval` of them: scale *= growth while that is finite in f32
class LossScale {
 public:
  /// Not enabled (fp32, bf16): the scale is 1 for ever.
  LossScale(const LossScaleSection& section, bool is_enabled);

  double value() const noexcept { return state_.scale; }
  const LossScaleState& state() const noexcept { return state_; }
  /// Continues with the state of a checkpoint; without effect when not enabled.
  void restore(const LossScaleState& state) noexcept;

  /// Call once per step, after it is known whether any rank found a gradient that is not finite.
  void after_step(bool is_skipped) noexcept;

 private:
  LossScaleSection section_;
  bool is_enabled_;
  LossScaleState state_;
};

}  // namespace muster::runtime
