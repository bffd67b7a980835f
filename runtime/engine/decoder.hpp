#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/device/device.hpp"
#include "runtime/engine/program.hpp"
#include "runtime/program/executor.hpp"
#include "runtime/program/parameter_store.hpp"

namespace muster::runtime {

/// Runs a model forward for the logits of the next token. The whole window is computed anew for
/// every token: no state is kept between calls. One thread.
class Decoder {
 public:
  /// options.batch is one row; its seq_len is the longest context that is looked at.
  Decoder(const EngineOptions& options, kernels::Device& device, collectives::Communicator& group);

  ParameterStore& store() noexcept { return store_; }
  const Registry& registry() const noexcept { return registry_; }
  void refresh_compute_copies();

  /// Logits [vocab] of the token that follows `text` (at least one token); of a longer text the
  /// last seq_len tokens are looked at. Valid until the next call.
  std::span<const float> next_logits(std::span<const std::int32_t> text);

 private:
  EngineOptions options_;
  kernels::Device& device_;
  Model model_;
  Registry registry_;
  List list_;
  ArenaPlan plan_;
  ParameterStore store_;
  StepMemory memory_;
  BoundList bound_;
  TensorView logits_;
};

}  // namespace muster::runtime
