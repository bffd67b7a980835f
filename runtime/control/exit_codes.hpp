#pragma once

#include "kernels/base/error.hpp"

namespace muster::runtime {

// What a rank returns, and what a job returns: 0, a failed rank's own code, 128 + signal, or one of
// these. kExitPeerLost is never what a job returns: it marks ranks that are not to blame.
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;      // usage or configuration
inline constexpr int kExitStopped = 75;   // stopped on request, resumable
inline constexpr int kExitPeerLost = 76;  // ended only because a peer failed

/// The code a program returns when this error reaches its top.
constexpr int exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::config: return kExitUsage;
    case ErrorCode::stopped: return kExitStopped;
    case ErrorCode::peer_lost: return kExitPeerLost;
    default: return kExitFailed;
  }
}

}  // namespace muster::runtime
