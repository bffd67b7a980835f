#include "runtime/engine/decoder.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/base/error.hpp"
#include "runtime/engine/copies.hpp"
#include "runtime/program/loss.hpp"

namespace muster::runtime {
namespace {

Model logits_model(const EngineOptions& options) {
  MUSTER_ASSERT(options.batch.rows == 1);
  Model model = forward_model(options);
  add_last_logits(model);
  return model;
}

}  // namespace

Decoder::Decoder(const EngineOptions& options, kernels::Device& device,
                 collectives::Communicator& group)
    : options_(options),
      device_(device),
      model_(logits_model(options)),
      registry_(make_registry(model_, options.no_decay)),
      list_(unroll(model_, registry_, {})),
      plan_(plan_arena(list_)),
      store_(registry_, {.compute = options.compute, .is_training = false}, device.memory(),
             group.memory()),
      memory_({.arena_bytes = plan_.bytes,
               .tokens = options.batch.tokens(),
               .parameters = static_cast<std::int64_t>(registry_.parameters().size())},
              model_.constants, device.memory(), group.memory()),
      bound_(list_, plan_,
             {.device = device, .data_group = group, .store = store_, .memory = memory_}) {
  const ValueId logits = list_.ops.back().outputs[0];
  logits_ =
      memory_.arena_view(plan_.offsets[static_cast<std::size_t>(logits)], list_.value(logits));
}

void Decoder::refresh_compute_copies() {
  round_masters(store_, registry_, device_);
}

std::span<const float> Decoder::next_logits(std::span<const std::int32_t> text) {
  MUSTER_ASSERT(!text.empty());
  const auto window = static_cast<std::size_t>(options_.batch.seq_len);
  const auto seen = text.last(std::min(text.size(), window));
  // The text ends where the window ends; what stands before it is a document of its own.
  const std::size_t begin = window - seen.size();
  std::vector<std::int32_t> tokens(window, 0);
  std::vector<std::int32_t> positions(window, 0);
  std::vector<std::int32_t> bounds(window, 0);
  std::copy(seen.begin(), seen.end(), tokens.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t t = begin; t < window; ++t) {
    positions[t] = static_cast<std::int32_t>(t - begin);
    bounds[t] = static_cast<std::int32_t>(begin);
  }
  memory_.fill(FrameField::tokens, tokens);
  memory_.fill(FrameField::positions, positions);
  memory_.fill(FrameField::bounds, bounds);
  bound_.run();
  return {logits_.row<float>(0), static_cast<std::size_t>(logits_.cols)};
}

}  // namespace muster::runtime
