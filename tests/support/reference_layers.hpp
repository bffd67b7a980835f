#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/reference_numbers.hpp"

namespace muster::test::reference {

// The layers between the products of a transformer, as kernels/ops defines them, in double
// precision and without the roundings to the tensors' types.

/// 1 / sqrt(mean of the squares + eps) of every row: [1, rows].
Expected rms_norm_rstd(const Expected& x, double eps);
Expected rms_norm(const Expected& x, const Expected& gain, double eps);

struct RmsNormGradients {
  Expected dx;
  Expected dgain;  // [1, hidden]
};
/// From `rstd`, which the forward may have rounded. The addend is not included.
RmsNormGradients rms_norm_backward(const Expected& dy, const Expected& x, const Expected& gain,
                                   const Expected& rstd);

/// The angle of row t and pair i is angles[t][i]; x has heads of head_dim columns.
Expected rope(const Expected& x, const Expected& angles, std::int64_t head_dim);

Expected swiglu(const Expected& gate, const Expected& up);

struct SwigluGradients {
  Expected dgate;
  Expected dup;
};
SwigluGradients swiglu_backward(const Expected& dh, const Expected& gate, const Expected& up);

/// Row tokens[t] gains row t of dy.
Expected embedding_backward(const Expected& table, const Expected& dy,
                            const std::vector<std::int32_t>& tokens);

}  // namespace muster::test::reference
