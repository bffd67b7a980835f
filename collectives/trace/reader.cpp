#include "collectives/trace/reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::trace {
namespace {

constexpr int kTries = 16;  // a writer is never within one writing for so long
constexpr auto kKinds = static_cast<std::uint8_t>(CallKind::send_receive) + 1;
constexpr auto kOps = static_cast<std::uint8_t>(ReduceOp::prod) + 1;
constexpr double kNsPerS = 1e9;
constexpr std::int64_t kDayNs = 86'400'000'000'000;

template <std::size_t Count>
std::string text_of(const Text<Count>& from) {
  std::string text(from.view());
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

/// Nothing where the fields are no call: the words of a kind, a dtype or an op that does not exist.
std::optional<CallView> call_of(const CallFields& fields) {
  CallView call;
  call.signature.word = fields.signature;
  call.signature.count = fields.count;
  const bool is_known = static_cast<std::uint8_t>(call.signature.kind()) < kKinds &&
                        static_cast<std::uint8_t>(call.signature.dtype()) <= 7 &&
                        static_cast<std::uint8_t>(call.signature.op()) < kOps;
  if (!is_known) return std::nullopt;
  call.group = text_of(fields.group);
  call.label = text_of(fields.label);
  call.lane = static_cast<int>(fields.lane & 0xFFU);
  call.to = static_cast<std::int32_t>(fields.partners) - 1;
  call.from = static_cast<std::int32_t>(fields.partners >> 32) - 1;
  return call;
}

/// The fields, tried again while a writer is at them.
template <typename Fields>
std::uint64_t load(const Versioned<Fields>& from, Fields& fields) {
  for (int i = 0; i < kTries; ++i) {
    if (const std::uint64_t stamp = from.load(fields); stamp != 0) return stamp;
  }
  return 0;
}

}  // namespace

bool CallView::is_same_call(const CallView& other) const {
  return group == other.group && lane == other.lane &&
         signature.sequence() == other.signature.sequence() &&
         signature.kind() != CallKind::send_receive &&
         other.signature.kind() != CallKind::send_receive;
}

RecordReader::RecordReader(const Fd& memory) : record_(memory, MappedRecord::Access::read) {}

bool RecordReader::is_open() const {
  const NowPage& page = record_.layout().now;
  if (page.magic.load(std::memory_order_acquire) != kMagic) return false;
  if (page.version != kLayoutVersion || page.entries != kEntries) {
    throw Error(ErrorCode::io,
                fmt::format("flight recorder: layout {} with {} entries; this program reads layout "
                            "{} with {}: use the version of muster that runs the job",
                            page.version, page.entries, kLayoutVersion, kEntries));
  }
  return true;
}

ClockLine RecordReader::line() const {
  const NowPage& page = record_.layout().now;
  const bool uses_cycles = page.uses_cycles != 0;
  const std::int64_t ns = Clock::monotonic_ns();
  const ClockPair now = {uses_cycles ? Clock::cycles() : static_cast<std::uint64_t>(ns), ns};
  return {{page.base_ticks, page.base_ns}, now};
}

NowView RecordReader::now() const {
  const NowPage& page = record_.layout().now;
  const ClockLine times = line();
  NowView view;
  view.pid = page.pid;
  view.rank = page.rank;
  view.size = page.size;
  view.calls = page.next.load(std::memory_order_relaxed);
  PhaseFields phase;
  if (load(page.phase, phase) != 0) {
    view.phase = text_of(phase.name);
    view.phase_since_ns = times.ns_at(phase.since);
    view.step = phase.step;
  }
  for (const WaitSlot& slot : page.waits) {
    WaitFields wait;
    if (load(slot.wait, wait) == 0 || wait.since == 0) continue;
    const std::optional<CallView> call = call_of(wait.call);
    if (!call) continue;
    const std::int64_t waited_ns = std::clamp<std::int64_t>(wait.waited_ns, 0, kDayNs);
    view.waits.push_back({*call, times.ns_at(wait.since) - waited_ns, wait.peer, wait.peer_rank});
  }
  for (const WaitedFor& waited : page.waited) {
    const std::uint64_t peer = waited.peer.load(std::memory_order_relaxed);
    if (peer == 0) break;
    const auto ns = static_cast<double>(waited.nanoseconds.load(std::memory_order_relaxed));
    view.waited.push_back({peer, ns / kNsPerS});
  }
  const std::int64_t began = times.ns_at(page.waits_since.load(std::memory_order_relaxed));
  view.waited_within_s = static_cast<double>(Clock::monotonic_ns() - began) / kNsPerS;
  return view;
}

std::optional<EntryView> RecordReader::entry(std::uint64_t number, const ClockLine& line) const {
  const Entry& entry = record_.layout().entries[number % kEntries];
  CallFields fields;
  if (entry.call.load(fields) != number + 1) return std::nullopt;
  const std::uint64_t finish = entry.finish.load(std::memory_order_acquire);
  const std::uint64_t ticks = finish >> kTicksShift;
  const auto outcome = static_cast<Outcome>(finish & 3U);
  const bool is_own = finish == finish_word(number, outcome, ticks);
  std::optional<CallView> call = call_of(fields);
  if (!is_own || !call) return std::nullopt;
  EntryView view{.call = std::move(*call), .number = number, .outcome = outcome};
  view.begin_ns = line.ns_at(fields.begin);
  constexpr std::uint64_t kTicksKept = (std::uint64_t{1} << (64 - kTicksShift)) - 1;
  if (outcome == Outcome::done_at_once) {
    view.end_ns = view.begin_ns;
  } else if (outcome != Outcome::running) {
    view.end_ns = line.ns_at(fields.begin + ((ticks - fields.begin) & kTicksKept));
  }
  return view;
}

std::vector<EntryView> RecordReader::last_calls(std::size_t most) const {
  const ClockLine times = line();
  const std::uint64_t next = record_.layout().now.next.load(std::memory_order_acquire);
  const std::uint64_t count = std::min<std::uint64_t>({next, most, kEntries});
  std::vector<EntryView> calls;
  for (std::uint64_t number = next - count; number != next; ++number) {
    if (std::optional<EntryView> view = entry(number, times)) calls.push_back(std::move(*view));
  }
  return calls;
}

std::optional<EntryView> RecordReader::last_call() const {
  constexpr std::size_t kNearby = 8;  // some of which may be being written
  std::vector<EntryView> calls = last_calls(kNearby);
  if (calls.empty()) return std::nullopt;
  return std::move(calls.back());
}

StackView RecordReader::stack() const {
  StackFields fields;
  const std::uint64_t stamp = load(record_.layout().now.stack, fields);
  if (stamp == 0) return {};
  const auto depth = std::min<std::uint64_t>(fields.depth, fields.frames.size());
  return {stamp,
          {fields.frames.begin(), fields.frames.begin() + static_cast<std::ptrdiff_t>(depth)}};
}

}  // namespace muster::collectives::trace
