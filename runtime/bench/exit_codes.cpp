#include "runtime/bench/exit_codes.hpp"

#include "runtime/control/exit_codes.hpp"

namespace muster::runtime {

int bench_exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::config: return kBenchExitArguments;
    case ErrorCode::invalid_argument: return kBenchExitInvalidUsage;
    case ErrorCode::unsupported: return kBenchExitNotImplemented;
    case ErrorCode::timeout: return kBenchExitTimeout;
    case ErrorCode::peer_lost: return kExitPeerLost;
    case ErrorCode::stopped: return kExitStopped;
    default: return kBenchExitInternal;
  }
}

}  // namespace muster::runtime
