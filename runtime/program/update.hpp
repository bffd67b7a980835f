#pragma once

#include "runtime/program/list.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// The constants of AdamW; what changes per step is in kernels::AdamwStep.
struct AdamwConstants {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
};

/// The f32 gradients of a unit as one flat value [1, elements].
ValueId unit_value(List& list, const Registry& registry, int unit);

/// {sum of squares, found-inf} of one parameter's gradient, into row `parameter` of `field`.
void emit_norm(List& list, const Registry& registry, int parameter, StateField field);

/// The list that takes the norms of all (reduced) gradients, one parameter at a time, so that the
/// global norm can be summed in a fixed order and a gradient that is not finite can be named.
List norm_list(const Registry& registry);

/// The list that updates every trainable parameter. `compute` is the dtype of the compute copies;
/// with f32 the model computes with the master weights and there are none.
List update_list(const Registry& registry, const AdamwConstants& constants, Dtype compute);

}  // namespace muster::runtime
