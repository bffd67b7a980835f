#include "collectives/call.hpp"

namespace muster::collectives {
namespace {

// Beyond this the clock's range could overflow, and nobody waits that long.
constexpr double kForever = 1e9;

}  // namespace

Deadline deadline_of(const CallOptions& options) noexcept {
  return options.timeout_s < kForever ? Deadline::after_seconds(options.timeout_s)
                                      : Deadline::never();
}

bool is_reduction(CallKind kind) noexcept {
  return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter ||
         kind == CallKind::reduce_scatter_v || kind == CallKind::reduce;
}

bool has_root(CallKind kind) noexcept {
  return kind == CallKind::broadcast || kind == CallKind::reduce || kind == CallKind::gather ||
         kind == CallKind::scatter;
}

std::string_view to_string(CallKind kind) noexcept {
  switch (kind) {
    case CallKind::all_reduce: return "all_reduce";
    case CallKind::all_gather: return "all_gather";
    case CallKind::reduce_scatter: return "reduce_scatter";
    case CallKind::broadcast: return "broadcast";
    case CallKind::barrier: return "barrier";
    case CallKind::allocate: return "allocate";
    case CallKind::reduce: return "reduce";
    case CallKind::gather: return "gather";
    case CallKind::scatter: return "scatter";
    case CallKind::all_to_all: return "all_to_all";
    case CallKind::all_gather_v: return "all_gather_v";
    case CallKind::reduce_scatter_v: return "reduce_scatter_v";
    case CallKind::all_to_all_v: return "all_to_all_v";
    case CallKind::send_receive: return "send_receive";
  }
  return "unknown call";
}

std::string_view to_string(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::avg: return "avg";
    case ReduceOp::max: return "max";
    case ReduceOp::min: return "min";
    case ReduceOp::prod: return "prod";
  }
  return "unknown op";
}

}  // namespace muster::collectives
