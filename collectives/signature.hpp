#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/call.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

/// What all ranks must agree on about one call, in 16 bytes that travel with every message.
///
///   word  = kind (4 bits) | dtype (4) | op (4) | root (20) | sequence (32), lowest first
///   count = Call::count
///
/// The sequence is kept modulo 2^32: ranks are never further apart than a few calls.
struct Signature {
  std::uint64_t word = 0;
  std::int64_t count = 0;

  Signature() = default;
  explicit Signature(const Call& call) noexcept
      : word(static_cast<std::uint64_t>(call.kind) |
             static_cast<std::uint64_t>(call.in.dtype) << 4 |
             static_cast<std::uint64_t>(call.op) << 8 |
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root) & 0xFFFFFU) << 12 |
             call.sequence << 32),
        count(call.count) {}

  CallKind kind() const noexcept { return static_cast<CallKind>(word & 15U); }
  Dtype dtype() const noexcept { return static_cast<Dtype>(word >> 4 & 15U); }
  ReduceOp op() const noexcept { return static_cast<ReduceOp>(word >> 8 & 15U); }
  int root() const noexcept { return static_cast<int>(word >> 12 & 0xFFFFFU); }
  std::uint32_t sequence() const noexcept { return static_cast<std::uint32_t>(word >> 32); }

  bool operator==(const Signature&) const = default;
};

/// The signature of a call whose list of counts must be the same on every rank: these kinds have no
/// root, and its place takes a digest of the list. Of any other call: Signature(call).
Signature signature_with_counts(const Call& call) noexcept;

/// What ranks compare where one makes a call of signature `own` with these options.
inline const Signature& compared(const Signature& own, const CallOptions& options) noexcept {
  return options.step_of != nullptr ? *options.step_of : own;
}

/// "all_reduce f32[64]", "barrier".
std::string to_string(const Signature& signature);

/// One rank's side of a mismatch.
struct RankedSignature {
  int rank;
  Signature signature;
};

/// The Error(invalid_argument) of two ranks that came to one meeting with different calls:
/// "seq 12: rank 0 all_reduce f32[64], rank 1 broadcast f32[64] (group world, lane 0) …". Op and
/// root are named where the rest is the same, both sequence numbers where these differ.
Error signature_mismatch(std::string_view group, int lane, const RankedSignature& first,
                         const RankedSignature& second);

}  // namespace muster::collectives
