#pragma once

#include "runtime/program/op_kind.hpp"

namespace muster::runtime::ops {

// One function per kind, defined in the file of its family of kinds; op_kind.cpp lists them.
const OpKind& embedding();
const OpKind& embedding_backward();
const OpKind& rms_norm();
const OpKind& rms_norm_backward();
const OpKind& linear();
const OpKind& linear_input_gradient();
const OpKind& linear_weight_gradient();
const OpKind& column_sum();
const OpKind& rope();
const OpKind& attention();
const OpKind& attention_backward();
const OpKind& swiglu();
const OpKind& swiglu_backward();
const OpKind& geglu();
const OpKind& geglu_backward();
const OpKind& add();
const OpKind& softmax_statistics();
const OpKind& softmax_loss();
const OpKind& softmax_gradient();
const OpKind& norm_squared();
const OpKind& adamw();
const OpKind& all_reduce();

}  // namespace muster::runtime::ops
