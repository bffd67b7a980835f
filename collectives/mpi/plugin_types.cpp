#include "collectives/mpi/plugin_types.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/base/half.hpp"

namespace muster::collectives::mpi {
namespace {

// What elements are combined in.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 2, float, T>;

struct Sum {
  template <typename T>
  static T combine(T a, T b) {
    return a + b;
  }
};
struct Prod {
  template <typename T>
  static T combine(T a, T b) {
    return a * b;
  }
};
struct Max {
  template <typename T>
  static T combine(T a, T b) {
    return a > b || std::isnan(a) ? a : b;
  }
};
struct Min {
  template <typename T>
  static T combine(T a, T b) {
    return a < b || std::isnan(a) ? a : b;
  }
};

// An MPI_User_function: in_out[i] = in[i] op in_out[i].
template <typename T, typename Op>
void combine_all(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  const T* const from = static_cast<const T*>(in);
  T* const to = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i) {
    to[i] = T(Op::combine(static_cast<Wide<T>>(from[i]), static_cast<Wide<T>>(to[i])));
  }
}

template <typename T, typename Op>
MPI_Op make_op() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(combine_all<T, Op>, 1, &op);
  return op;
}

MPI_Datatype make_two_bytes() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

Types::Types()
    : half_(make_two_bytes()),
      bfloat16_(make_two_bytes()),
      double_ops_{.max = make_op<double, Max>(), .min = make_op<double, Min>()},
      float_ops_{.max = make_op<float, Max>(), .min = make_op<float, Min>()},
      half_ops_{make_op<Half, Sum>(), make_op<Half, Max>(), make_op<Half, Min>(),
                make_op<Half, Prod>()},
      bfloat16_ops_{make_op<Bfloat16, Sum>(), make_op<Bfloat16, Max>(), make_op<Bfloat16, Min>(),
                    make_op<Bfloat16, Prod>()} {}

MPI_Datatype Types::of(Dtype dtype) const noexcept {
  switch (dtype) {
    case Dtype::f64: return MPI_DOUBLE;
    case Dtype::f32: return MPI_FLOAT;
    case Dtype::f16: return half_;
    case Dtype::bf16: return bfloat16_;
    case Dtype::i64: return MPI_INT64_T;
    case Dtype::i32: return MPI_INT32_T;
    case Dtype::i8: return MPI_INT8_T;
    case Dtype::u8: return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op Types::of(ReduceOp op, Dtype dtype) const noexcept {
  const Ops& ops = ops_of(dtype);
  switch (op) {
    case ReduceOp::sum: return ops.sum;
    case ReduceOp::max: return ops.max;
    case ReduceOp::min: return ops.min;
    case ReduceOp::prod: return ops.prod;
    case ReduceOp::avg: break;
  }
  return MPI_OP_NULL;
}

const Types::Ops& Types::ops_of(Dtype dtype) const noexcept {
  switch (dtype) {
    case Dtype::f64: return double_ops_;
    case Dtype::f32: return float_ops_;
    case Dtype::f16: return half_ops_;
    case Dtype::bf16: return bfloat16_ops_;
    default: return builtin_;
  }
}

}  // namespace muster::collectives::mpi
