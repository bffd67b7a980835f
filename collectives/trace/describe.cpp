#include "collectives/trace/describe.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace muster::collectives::trace {
namespace {

std::string partners(const CallView& call) {
  std::string text;
  if (call.to != Call::kNobody) text += fmt::format(", to {}", call.to);
  if (call.from != Call::kNobody) text += fmt::format(", from {}", call.from);
  return text;
}

}  // namespace

std::string describe(const CallView& call) {
  const CallKind kind = call.signature.kind();
  std::string text = to_string(call.signature);
  if (is_reduction(kind)) text += fmt::format(" {}", to_string(call.signature.op()));
  if (has_root(kind)) text += fmt::format(" root {}", call.signature.root());
  if (!call.label.empty()) text += fmt::format(" \"{}\"", call.label);
  const std::string place = kind == CallKind::send_receive
                                ? partners(call)
                                : fmt::format(", seq {}", call.signature.sequence());
  return text + fmt::format(" (group {}, lane {}{})", call.group, call.lane, place);
}

std::string describe(const EntryView& entry, std::int64_t now_ns) {
  const std::string call = describe(entry.call);
  switch (entry.outcome) {
    case Outcome::done:
    case Outcome::done_at_once:
      return fmt::format("{} ended {} ago", call, duration_text(now_ns - entry.end_ns));
    case Outcome::failed:
      return fmt::format("{} failed {} ago", call, duration_text(now_ns - entry.end_ns));
    case Outcome::running: break;
  }
  return fmt::format("{} has run for {}", call, duration_text(now_ns - entry.begin_ns));
}

std::string describe_phase(const NowView& now) {
  if (now.step < 0) return now.phase;
  return fmt::format("{}{} {}", now.phase, now.phase == "step" ? "" : " of step", now.step);
}

std::string duration_text(std::int64_t ns) {
  const double s = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
  if (s >= 9.95) return fmt::format("{:.0f} s", s);
  if (s >= 0.0995) return fmt::format("{:.1f} s", s);
  return fmt::format("{:.0f} ms", s * 1e3);
}

}  // namespace muster::collectives::trace
