#include "collectives/trace/recorder.hpp"

#include <algorithm>

#include <unistd.h>

namespace muster::collectives::trace {
namespace {

CallFields fields_of(const RecordedCall& call) noexcept {
  CallFields fields;
  fields.signature = call.signature.word;
  fields.count = call.signature.count;
  fields.partners = static_cast<std::uint32_t>(call.to + 1) |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.from + 1)) << 32;
  fields.lane = static_cast<std::uint64_t>(call.lane);
  fields.group = call.group;
  fields.label = Text<6>(call.label);
  return fields;
}

}  // namespace

std::atomic<Recorder*> Recorder::installed{nullptr};

std::uint64_t PeerName::key() const noexcept {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : host_id) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  const std::int32_t process = pid != 0 ? pid : -1 - rank;
  return static_cast<std::uint64_t>(hash) << 32 | static_cast<std::uint32_t>(process);
}

void Recorder::open(const Fd& memory) {
  static Recorder recorder(memory);
  installed.store(&recorder, std::memory_order_release);
}

Recorder::Recorder(const Fd& memory) : record_(memory, MappedRecord::Access::write) {
  NowPage& page = now();
  const ClockPair base = ClockPair::now(clock_);
  page.version = kLayoutVersion;
  page.entries = kEntries;
  page.pid = ::getpid();
  page.rank = -1;
  page.size = 0;
  page.uses_cycles = clock_.uses_cycles() ? 1 : 0;
  page.base_ticks = base.ticks;
  page.base_ns = base.ns;
  page.waits_since.store(base.ticks, std::memory_order_relaxed);
  page.magic.store(kMagic, std::memory_order_release);
  set_phase(Text<4>("start"));
}

void Recorder::set_owner(const Owner& owner) noexcept {
  std::atomic_ref(now().rank).store(owner.rank, std::memory_order_relaxed);
  std::atomic_ref(now().size).store(owner.size, std::memory_order_relaxed);
}

std::uint64_t Recorder::begin(const RecordedCall& call) noexcept {
  CallFields fields = fields_of(call);
  fields.begin = clock_.ticks();
  const std::uint64_t number = now().next.fetch_add(1, std::memory_order_relaxed);
  Entry& entry = record_.layout().entries[number % kEntries];
  entry.finish.store(running_word(number), std::memory_order_relaxed);
  entry.call.store(number + 1, fields);
  return number + 1;
}

void Recorder::end(std::uint64_t ticket, Outcome outcome) noexcept {
  if (ticket != 0) finish(ticket, outcome, clock_.ticks());
}

void Recorder::end_at_once(std::uint64_t ticket) noexcept {
  if (ticket != 0) finish(ticket, Outcome::done_at_once, 0);
}

// Between load and store another call may take the entry, in theory: then the lap says that this
// end is not that call's, and a reader leaves the entry out.
void Recorder::finish(std::uint64_t ticket, Outcome outcome, std::uint64_t ticks) noexcept {
  const std::uint64_t number = ticket - 1;
  std::atomic<std::uint64_t>& word = record_.layout().entries[number % kEntries].finish;
  if (word.load(std::memory_order_relaxed) != running_word(number)) return;
  word.store(finish_word(number, outcome, ticks), std::memory_order_release);
}

void Recorder::set_phase(const Text<4>& name) noexcept {
  phase_.name = name;
  keep_phase();
}

void Recorder::set_step(std::int64_t step) noexcept {
  phase_.step = step;
  keep_phase();
}

void Recorder::keep_phase() noexcept {
  phase_.since = clock_.ticks();
  now().phase.store_next(phase_);
}

std::atomic<std::uint64_t>* Recorder::waited_for(const PeerName& peer) noexcept {
  const std::uint64_t key = peer.key();
  for (WaitedFor& waited : now().waited) {
    std::uint64_t found = waited.peer.load(std::memory_order_relaxed);
    if (found == 0 && waited.peer.compare_exchange_strong(found, key)) found = key;
    if (found == key) return &waited.nanoseconds;
  }
  return nullptr;
}

void Recorder::restart_waits() noexcept {
  for (WaitedFor& waited : now().waited) waited.nanoseconds.store(0, std::memory_order_relaxed);
  now().waits_since.store(clock_.ticks(), std::memory_order_relaxed);
}

double Recorder::seconds_of_waits() const noexcept {
  const ClockLine line({now().base_ticks, now().base_ns}, ClockPair::now(clock_));
  const std::int64_t began = line.ns_at(now().waits_since.load(std::memory_order_relaxed));
  return static_cast<double>(Clock::monotonic_ns() - began) / 1e9;
}

void Recorder::keep_stack(std::span<void* const> frames) noexcept {
  StackFields stack;
  stack.at = clock_.ticks();
  stack.depth = std::min(frames.size(), stack.frames.size());
  for (std::size_t i = 0; i < stack.depth; ++i) {
    stack.frames[i] = reinterpret_cast<std::uint64_t>(frames[i]);
  }
  now().stack.store_next(stack);
}

void WaitNote::show(const RecordedCall& call, const PeerName& peer, double waited_s) noexcept {
  Recorder* const recorder = Recorder::current();
  if (recorder != nullptr) show(*recorder, call, peer, waited_s);
}

void WaitNote::show(Recorder& recorder, const RecordedCall& call, const PeerName& peer,
                    double waited_s) noexcept {
  recorder.long_waits_.fetch_add(1, std::memory_order_relaxed);
  for (WaitSlot& slot : recorder.now().waits) {
    std::uint64_t nobody = 0;
    if (!slot.is_taken.compare_exchange_strong(nobody, 1)) continue;
    WaitFields fields;
    fields.call = fields_of(call);
    fields.since = recorder.clock_.ticks();
    fields.peer = peer.key();
    fields.peer_rank = peer.rank;
    fields.waited_ns = static_cast<std::int64_t>(waited_s * 1e9);
    slot.wait.store_next(fields);
    slot_ = &slot;
    return;
  }
}

WaitNote::~WaitNote() {
  if (slot_ == nullptr) return;
  slot_->wait.store_next({});
  slot_->is_taken.store(0, std::memory_order_release);
}

PhaseScope::PhaseScope(std::string_view name) noexcept {
  Recorder* const recorder = Recorder::current();
  if (recorder == nullptr) return;
  before_ = recorder->phase();
  recorder->set_phase(Text<4>(name));
}

PhaseScope::~PhaseScope() {
  Recorder* const recorder = Recorder::current();
  if (recorder != nullptr) recorder->set_phase(before_);
}

}  // namespace muster::collectives::trace
