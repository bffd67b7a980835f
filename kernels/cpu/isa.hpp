#pragma once

#include <string_view>

#include "kernels/ops/op_table.hpp"

namespace muster::kernels::cpu {

/// The instruction sets the kernels of kernels/cpu/simd are compiled for, narrowest first.
///
///   avx2   : AVX2, FMA, F16C
///   avx512 : AVX-512 F, BW, DQ, VL besides
enum class Isa { avx2, avx512 };

std::string_view to_string(Isa isa) noexcept;

/// True if this processor and its operating system run code of `isa`.
bool is_supported(Isa isa) noexcept;

/// The instruction set to use: `wanted` ("avx2", "avx512"); if that is empty the environment
/// variable MUSTER_CPU_ISA; if that is empty too, the widest supported.
/// Error(invalid_argument) for an unknown name, Error(unsupported) for one the processor lacks and
/// for a processor without AVX2.
Isa choose_isa(std::string_view wanted);

/// The kernels compiled for `isa`.
const OpTable& op_table(Isa isa) noexcept;

}  // namespace muster::kernels::cpu
