#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_numbers.hpp"

namespace muster::test::reference {

/// The inputs of attention as kernels/ops/attention.hpp names them, in double precision.
struct Attention {
  Expected q;
  Expected k;
  Expected v;
  std::vector<std::int32_t> bounds;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  double scale = 1.0;

  std::int64_t head_dim() const { return q.cols / heads; }
};

struct AttentionResult {
  Expected out;
  Expected lse;
};
AttentionResult attention(const Attention& in);

struct AttentionGradients {
  Expected dq;
  Expected dk;
  Expected dv;
};
/// From `forward`, which may have been rounded: the kernels get rounded values too.
AttentionGradients attention_backward(const Attention& in, const AttentionResult& forward,
                                      const Expected& dout);

}  // namespace muster::test::reference
