#pragma once

#include <cstdint>

#include "runtime/program/model.hpp"

namespace muster::runtime {

/// Rows of logits that exist at a time: as many as fit in about 8 MiB, a multiple of 16.
std::int64_t loss_chunk_rows(std::int64_t tokens, std::int64_t vocab);

/// Turns the segments of a model around for training: stem and block by their kinds' backward; the
/// head in chunks of rows, each linear -> statistics -> loss -> gradient -> backward of the linear,
/// so that logits exist for one chunk only.
void differentiate(Model& model);

/// Gives the head the loss alone, in the same chunks (forward, for validation).
void add_loss(Model& model);

/// Gives the head the logits of the micro-batch's last token, [1, vocab] f32, as its output.
void add_last_logits(Model& model);

}  // namespace muster::runtime
