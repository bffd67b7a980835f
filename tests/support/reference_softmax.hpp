#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_numbers.hpp"

namespace muster::test::reference {

/// Cross-entropy over rows of logits: the sum over the rows with a target >= 0.
double cross_entropy(const Expected& logits, const std::vector<std::int32_t>& targets);

/// Its gradient, from softmax minus one at the target; 0 in rows without a target.
Expected cross_entropy_gradient(const Expected& logits, const std::vector<std::int32_t>& targets);

}  // namespace muster::test::reference
