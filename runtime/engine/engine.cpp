#include "runtime/engine/engine.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/base/error.hpp"
#include "runtime/engine/copies.hpp"
#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

/// Whether an op takes the norm of this rank's own gradient of `parameter`.
bool takes_own_norm(const List& list, const Op& op, int parameter) {
  if (op.kind->name() != "norm_squared") return false;
  const Value& gradient = list.value(op.inputs[0]);
  return gradient.origin == Origin::gradient && gradient.index == parameter;
}

}  // namespace

Engine::Engine(const EngineOptions& options, kernels::Device& device,
               collectives::Communicator& data_group)
    : options_(options),
      device_(device),
      group_(data_group),
      program_(make_program(options, data_group.size())),
      store_(program_.registry, {.compute = options.compute, .is_training = options.is_training},
             device.memory(), data_group.memory()),
      memory_({.arena_bytes = program_.arena_bytes(),
               .tokens = options.batch.tokens(),
               .parameters = static_cast<std::int64_t>(program_.registry.parameters().size())},
              program_.constants, device.memory(), data_group.memory()) {
  const Resources resources{.device = device,
                            .data_group = data_group,
                            .store = store_,
                            .memory = memory_,
                            .update = &step_,
                            .comm_timeout_s = options.comm_timeout_s};
  const auto bind = [&](const List& list, const ArenaPlan& plan) {
    return std::make_unique<BoundList>(list, plan, resources);
  };
  evaluate_ = bind(program_.evaluate, program_.evaluate_arena);
  if (!options.is_training) return;
  first_ = bind(program_.first, program_.arena);
  middle_ = bind(program_.middle, program_.arena);
  last_ = bind(program_.last, program_.arena);
  only_ = bind(program_.only, program_.arena);
  norms_ = bind(program_.norms, program_.arena);
  update_ = bind(program_.update, program_.arena);
}

void Engine::refresh_compute_copies() {
  round_masters(store_, registry(), device_);
}

void Engine::fill_frame(const MicroBatchView& batch, float loss_seed) {
  memory_.fill(FrameField::tokens, batch.tokens);
  memory_.fill(FrameField::targets, batch.targets);
  memory_.fill(FrameField::positions, batch.positions);
  memory_.fill(FrameField::bounds, batch.bounds);
  memory_.set_loss_seed(loss_seed);
}

void Engine::run_micro_batch(const MicroBatchView& batch, std::int64_t index, std::int64_t count,
                             float loss_seed) {
  fill_frame(batch, loss_seed);
  const bool is_first = index == 0;
  const bool is_last = index == count - 1;
  if (!is_last) {
    (is_first ? *first_ : *middle_).run();
  } else if (planted_ < 0) {
    (is_first ? *only_ : *last_).run();
  } else {
    run_with_plant(is_first ? *only_ : *last_, is_first ? program_.only : program_.last);
  }
}

void Engine::run_with_plant(const BoundList& bound, const List& list) {
  const int parameter = std::exchange(planted_, -1);
  float* const gradient = store_.view(Origin::gradient, parameter).row<float>(0);
  bool is_planted = false;
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    if (takes_own_norm(list, list.ops[i], parameter)) {
      *gradient = std::numeric_limits<float>::quiet_NaN();
      is_planted = true;
    }
    bound.ops()[i]();
  }
  if (!is_planted) *gradient = std::numeric_limits<float>::quiet_NaN();
}

double Engine::evaluate(const MicroBatchView& batch) {
  fill_frame(batch, 0.0F);
  evaluate_->run();
  return memory_.loss();
}

double Engine::take_norm_squared() {
  norms_->run();
  double sum = 0.0;
  for (std::size_t i = 0; i < registry().parameters().size(); ++i) {
    const auto [squares, found_inf] = memory_.norm(StateField::norms, static_cast<int>(i));
    if (found_inf != 0.0) return std::numeric_limits<double>::infinity();
    sum += squares;
  }
  return sum;
}

int Engine::first_not_finite() const {
  const StateField field = group_.size() > 1 ? StateField::own_norms : StateField::norms;
  for (std::size_t i = 0; i < program_.registry.parameters().size(); ++i) {
    if (memory_.norm(field, static_cast<int>(i))[1] != 0.0) return static_cast<int>(i);
  }
  return -1;
}

void Engine::update(const kernels::AdamwStep& step) {
  step_ = step;
  update_->run();
}

}  // namespace muster::runtime
