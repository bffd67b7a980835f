#pragma once

#include "kernels/base/error.hpp"

namespace muster::runtime {

// What `muster bench` returns beside 0: the numbers of nccl-tests, and one of our own.
inline constexpr int kBenchExitInternal = 1;
inline constexpr int kBenchExitTimeout = 4;
inline constexpr int kBenchExitNotImplemented = 5;
inline constexpr int kBenchExitInvalidUsage = 6;  // options that do not go together
inline constexpr int kBenchExitWrong = 7;         // wrong data, or less bandwidth than demanded
inline constexpr int kBenchExitRegression = 8;    // compare: slower beyond noise
inline constexpr int kBenchExitArguments = 255;   // an unknown option, a malformed value

/// The code that `muster bench` returns when this error reaches its top. A peer's failure keeps the
/// code by which the launcher tells victims from culprits.
int bench_exit_code_of(ErrorCode code) noexcept;

}  // namespace muster::runtime
