#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/list.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// A parameter of a segment. In the names of a repeated block "{}" stands for the layer.
struct ParameterSpec {
  Parameter parameter;
  bool is_tied = false;  // the parameter of this name that another segment has too
};

/// One part of the model: a list that is run `count` times with other parameters each time.
///
/// list.ops is the forward part; differentiate() fills `backward`, which works on the same values.
/// Forward reads `input` and writes `output`; backward reads `output_gradient` and writes
/// `input_gradient` (kNone where there is none: the stem has no input, the head makes its own
/// gradient from the loss).
struct Segment {
  std::string name;
  std::int64_t count = 1;
  List list;
  std::vector<Op> backward;
  std::vector<ParameterSpec> parameters;
  ValueId input = kNone;
  ValueId output = kNone;
  ValueId output_gradient = kNone;
  ValueId input_gradient = kNone;

  /// Adds a parameter and the value that stands for its compute copy.
  ValueId add_parameter(ParameterSpec spec);
};

/// A table the family makes once, f32 [rows, cols].
struct Constant {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<float> values;
};

/// A model as a family emits it: it knows no ranks, no devices and, before the precision pass, no
/// precision.
struct Model {
  Segment stem;
  Segment block;
  Segment head;
  ValueId head_weight = kNone;  // in the head's list: [vocab, hidden]
  std::vector<Constant> constants;
  std::int64_t tokens = 0;  // of a micro-batch
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
};

/// A value of the frame, [1, tokens] i32, or the loss seed, [1, 1] f32.
ValueId frame_value(List& list, FrameField field, std::int64_t tokens);
/// The value of constant `index` of the model.
ValueId constant_value(List& list, const Model& model, int index);

/// Lists every parameter of the model, unit by unit. `no_decay`: parts of names that exempt a
/// parameter from weight decay; a parameter of one row (a norm's gain, a bias) is matched the same
/// way, by name.
Registry make_registry(const Model& model, const std::vector<std::string>& no_decay);

}  // namespace muster::runtime
