#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/memory.hpp"
#include "kernels/base/tensor_view.hpp"
#include "runtime/program/list.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// What a run keeps of every parameter.
struct StoreOptions {
  Dtype compute = Dtype::f32;  // of the compute copy; with f32 it is the master itself
  bool is_training = true;     // gradients and moments too
};

/// The memory of all parameters of this rank, one allocation per unit and kind of content:
///
///   master    f32        device memory
///   compute   16 bits    shared memory: peers may read it
///   gradient  f32        shared memory: reduced in place
///   moments   f32 x 2    device memory
class ParameterStore {
 public:
  /// `shared` is the communicator's memory source: allocation is collective there. The registry
  /// must outlive the store.
  ParameterStore(const Registry& registry, const StoreOptions& options, MemorySource& device,
                 MemorySource& shared);

  /// The bytes of one parameter, [rows, cols]; `origin` parameter, gradient, master or a moment.
  /// A view without data if this run does not keep it.
  TensorView view(Origin origin, int parameter) const;
  /// The gradients of a unit as [1, elements].
  TensorView unit_gradients(int unit) const;
  /// Whether the compute copy is the master.
  bool shares_master() const noexcept { return options_.compute == Dtype::f32; }
  const StoreOptions& options() const noexcept { return options_; }

  /// Bytes per rank that a store of these options takes.
  static std::int64_t bytes(const Registry& registry, const StoreOptions& options);

 private:
  struct UnitMemory {
    Memory master;
    Memory compute;
    Memory gradient;
    Memory moment1;
    Memory moment2;
  };

  const Registry& registry_;
  StoreOptions options_;
  std::vector<UnitMemory> units_;
};

}  // namespace muster::runtime
