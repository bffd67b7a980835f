#include "runtime/passes/fuse.hpp"

#include <string_view>
#include <vector>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

bool is_kind(const Op& op, std::string_view name) {
  return op.kind->name() == name;
}

void fuse(List& list) {
  std::vector<Op> fused;
  for (const Op& op : list.ops) {
    const bool follows_its_add = !fused.empty() && is_kind(op, "rms_norm") &&
                                 is_kind(fused.back(), "add") && op.inputs[2] == kNone &&
                                 fused.back().outputs[0] == op.inputs[0];
    if (!follows_its_add) {
      fused.push_back(op);
      continue;
    }
    const Op add = fused.back();
    Op& joint = fused.back();
    joint = op;
    joint.inputs = {add.inputs[0], op.inputs[1], add.inputs[1]};
    joint.outputs = {op.outputs[0], op.outputs[1], add.outputs[0]};
  }
  list.ops = fused;
}

}  // namespace

void fuse_residual_norms(Model& model) {
  for (Segment* segment : {&model.stem, &model.block, &model.head}) fuse(segment->list);
}

}  // namespace muster::runtime
