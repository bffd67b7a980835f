#include "collectives/signature.hpp"

#include <fmt/format.h>

namespace muster::collectives {
namespace {

// Kinds whose lists of counts all ranks must agree on.
bool has_common_counts(CallKind kind) {
  return kind == CallKind::all_gather_v || kind == CallKind::reduce_scatter_v;
}

// The call with everything that can differ between two calls that look alike.
std::string detailed(const Signature& signature) {
  std::string text = to_string(signature);
  if (is_reduction(signature.kind())) text += fmt::format(" {}", to_string(signature.op()));
  if (has_common_counts(signature.kind())) {
    text += fmt::format(" with the counts #{:05x}", signature.root());
  }
  if (has_root(signature.kind())) text += fmt::format(" root {}", signature.root());
  return text;
}

}  // namespace

Signature signature_with_counts(const Call& call) noexcept {
  if (!has_common_counts(call.kind)) return Signature(call);
  // FNV-1a, a number at a time, folded to the bits there are.
  std::uint64_t digest = 0xCBF29CE484222325U;
  for (const std::int64_t count : call.out_counts) {
    digest = (digest ^ static_cast<std::uint64_t>(count)) * 0x100000001B3U;
  }
  Call named = call;
  named.root = static_cast<int>((digest ^ digest >> 20 ^ digest >> 40) & 0xFFFFFU);
  return Signature(named);
}

std::string to_string(const Signature& signature) {
  const std::string_view kind = to_string(signature.kind());
  if (signature.kind() == CallKind::barrier) return std::string(kind);
  return fmt::format("{} {}[{}]", kind, to_string(signature.dtype()), signature.count);
}

Error signature_mismatch(std::string_view group, int lane, const RankedSignature& first,
                         const RankedSignature& second) {
  const Signature& a = first.signature;
  const Signature& b = second.signature;
  const bool is_in_step = a.sequence() == b.sequence();
  const bool looks_alike = is_in_step && to_string(a) == to_string(b);
  const std::string a_text = looks_alike ? detailed(a) : to_string(a);
  const std::string b_text = looks_alike ? detailed(b) : to_string(b);
  const std::string calls =
      is_in_step ? fmt::format("seq {}: rank {} {}, rank {} {}", a.sequence(), first.rank, a_text,
                               second.rank, b_text)
                 : fmt::format("rank {} seq {} {}, rank {} seq {} {}", first.rank, a.sequence(),
                               a_text, second.rank, b.sequence(), b_text);
  return {ErrorCode::invalid_argument,
          fmt::format("{} (group {}, lane {}); every rank must make the same calls in the same "
                      "order with the same dtype, count, op and root",
                      calls, group, lane)};
}

}  // namespace muster::collectives
