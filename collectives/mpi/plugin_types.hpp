#pragma once

#include <mpi.h>

#include "collectives/call.hpp"
#include "kernels/base/dtype.hpp"

/// The element types and ops of MPI that stand for ours. Part of the plug-in.
namespace muster::collectives::mpi {

/// 16-bit floats, which MPI 3 does not know, are types of two bytes of their own. Those made here
/// live as long as MPI.
class Types {
 public:
  /// MPI has been started.
  Types();

  MPI_Datatype of(Dtype dtype) const noexcept;
  /// Never asked for avg. max and min propagate NaN; 16-bit floats are combined in f32 and rounded
  /// after each addition.
  MPI_Op of(ReduceOp op, Dtype dtype) const noexcept;

 private:
  /// Sum, max, min, prod of one element type.
  struct Ops {
    MPI_Op sum = MPI_SUM;
    MPI_Op max = MPI_MAX;
    MPI_Op min = MPI_MIN;
    MPI_Op prod = MPI_PROD;
  };
  const Ops& ops_of(Dtype dtype) const noexcept;

  MPI_Datatype half_ = MPI_DATATYPE_NULL;
  MPI_Datatype bfloat16_ = MPI_DATATYPE_NULL;
  Ops builtin_;
  Ops double_ops_;
  Ops float_ops_;
  Ops half_ops_;
  Ops bfloat16_ops_;
};

}  // namespace muster::collectives::mpi
