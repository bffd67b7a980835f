#include "runtime/train/validation.hpp"

#include <algorithm>
#include <array>

namespace muster::runtime {

Validator::Validator(const ValidationSet& set, BatchShape batch, std::int64_t most_batches)
    : set_(set),
      batches_((set.samples() + batch.rows - 1) / batch.rows),
      batch_(batch.rows, batch.seq_len) {
  if (most_batches > 0) batches_ = std::min(batches_, most_batches);
}

ValidationResult Validator::run(Engine& engine, collectives::Communicator& group,
                                double timeout_s) {
  std::array<double, 2> sums{};  // loss, targets
  for (std::int64_t index = group.rank(); index < batches_; index += group.size()) {
    const std::int64_t targets = set_.read(index * batch_.rows, batch_);
    sums[0] += engine.evaluate({batch_.tokens, batch_.targets, batch_.positions, batch_.bounds});
    sums[1] += static_cast<double>(targets);
  }
  const TensorView view = vector_view(sums.data(), 2);
  group
      .all_reduce(view, view, collectives::ReduceOp::sum,
                  {.label = "validation", .timeout_s = timeout_s})
      .wait();
  return {sums[0] / std::max(sums[1], 1.0), static_cast<std::int64_t>(sums[1])};
}

}  // namespace muster::runtime
