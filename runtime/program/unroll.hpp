#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/model.hpp"

namespace muster::runtime {

/// What a micro-batch's list does with gradients that are there already.
struct StepForm {
  bool adds = false;  // not the first micro-batch of the step: add to gradients and loss
};

/// The list of one micro-batch: stem, every block, head, and their backward parts in reverse, with
/// parameters named by their registry number. The values are the same, in the same order, for every
/// form, so one arena plan serves them all.
List unroll(const Model& model, const Registry& registry, StepForm form);

/// Where each op of the unrolled list came from, for printing and prices.
struct OpSource {
  std::string segment;
  std::int64_t layer = 0;
};
std::vector<OpSource> op_sources(const Model& model);

}  // namespace muster::runtime
