#pragma once

#include <cstdint>

#include "runtime/config/job.hpp"

namespace muster::runtime {

/// The part of optimizer.lr that update `step` (counted from 0) of `steps` uses. With W warm-up
/// steps, D = decay_steps() last steps that decay, and m = min_lr_factor:
///
///   step < W        (step + 1) / W with first_step "one", step / W with "zero" (then the first
///                   update changes nothing)
///   step < steps-D  1
///   after           m + (1 - m) f(p), p = (step - (steps - D)) / D, 1 from the end of steps on
///
///   f: cosine (1 + cos(pi p)) / 2; linear 1 - p; wsd by decay_type: either, or sqrt 1 - sqrt(p)
///
/// The first decaying step has p = 0, the last one of the run (D - 1) / D, so the rate is never 0
/// while it is used.
double schedule_factor(const LrSchedulerSection& schedule, std::int64_t step, std::int64_t steps);

}  // namespace muster::runtime
