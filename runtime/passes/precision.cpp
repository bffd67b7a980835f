#include "runtime/passes/precision.hpp"

namespace muster::runtime {

void apply_precision(Model& model, Dtype compute) {
  for (Segment* segment : {&model.stem, &model.block, &model.head}) {
    for (Value& value : segment->list.values) {
      if (!value.keeps_dtype) value.dtype = compute;
    }
  }
}

}  // namespace muster::runtime
