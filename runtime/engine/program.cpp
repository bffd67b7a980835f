#include "runtime/engine/program.hpp"

#include <utility>

#include "runtime/model/families.hpp"
#include "runtime/passes/fuse.hpp"
#include "runtime/passes/precision.hpp"
#include "runtime/passes/zero.hpp"
#include "runtime/program/loss.hpp"

namespace muster::runtime {

Model forward_model(const EngineOptions& options) {
  Model model = build_model(options.shape, options.batch);
  apply_precision(model, options.compute);
  fuse_residual_norms(model);
  return model;
}

Program make_program(const EngineOptions& options, int data_degree) {
  Program program;
  Model evaluated = forward_model(options);
  program.registry = make_registry(evaluated, options.no_decay);
  add_loss(evaluated);
  program.evaluate = unroll(evaluated, program.registry, {});
  program.evaluate_arena = plan_arena(program.evaluate);
  program.constants = std::move(evaluated.constants);
  if (!options.is_training) return program;

  Model model = forward_model(options);
  differentiate(model);
  program.first = unroll(model, program.registry, {.adds = false});
  program.middle = unroll(model, program.registry, {.adds = true});
  program.arena = plan_arena(program.first);
  program.sources = op_sources(model);
  program.last = program.middle;
  program.only = program.first;
  reduce_gradients(program.last, program.registry, data_degree);
  reduce_gradients(program.only, program.registry, data_degree);
  program.norms = norm_list(program.registry);
  program.update = update_list(program.registry, options.adamw, options.compute);
  return program;
}

}  // namespace muster::runtime
