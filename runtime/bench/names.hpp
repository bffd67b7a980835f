#pragma once

#include <string_view>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::runtime {

/// "float", "half", "int32", …: what nccl-tests calls a type.
std::string_view nccl_name(Dtype dtype) noexcept;

/// The types that -d names; all of ours for "all". Error(unsupported) for a type of nccl-tests that
/// muster lacks, Error(config) for any other text.
std::vector<Dtype> parse_nccl_types(std::string_view text);

/// The reductions that -o names; all of ours for "all". Errors as parse_nccl_types().
std::vector<kernels::ReduceOp> parse_nccl_reductions(std::string_view text);

}  // namespace muster::runtime
