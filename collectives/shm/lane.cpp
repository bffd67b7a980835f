#include "collectives/shm/lane.hpp"

#include "collectives/signature.hpp"

namespace muster::collectives::shm {
namespace {

CounterLine& line_of(LaneControl& control, Counter counter) noexcept {
  switch (counter) {
    case Counter::done: return control.done;
    case Counter::staged: return control.staged;
    case Counter::reduced: break;
  }
  return control.reduced;
}

// Multiplications by odd numbers, so that any bit that differs changes the digest.
std::uint64_t extend(std::uint64_t history, const Signature& signature) noexcept {
  const std::uint64_t with_word = (history ^ signature.word) * 0x9E3779B97F4A7C15U;
  const std::uint64_t mixed = with_word ^ with_word >> 32;
  return (mixed ^ static_cast<std::uint64_t>(signature.count)) * 0xD1B54A32D192ED03U;
}

}  // namespace

Lane::Lane(const Group& group, int number, kernels::Device& device)
    : group_(group),
      number_(static_cast<std::size_t>(number)),
      device_(device),
      waiter_(group, number),
      sources_(static_cast<std::size_t>(group.size)),
      destinations_(static_cast<std::size_t>(group.size)),
      progress_(static_cast<std::size_t>(group.size)) {
  if (group.reaches_private && number != kMemoryLane) {
    tiles_.resize(static_cast<std::size_t>(group.size) * tile_bytes());
  }
  for (auto& list : begins_) list.resize(static_cast<std::size_t>(group.size));
}

void Lane::open(const Signature& signature, const CallOptions& options,
                std::optional<Deadline> deadline, std::uint64_t lead) {
  waiter_.begin({signature, options, deadline, round() + 1});
  history_ = extend(history_, waiter_.call().compared());
  // Half of the lead is left, so that the others' lines are not looked at in every call.
  if (round() > agreed_ + lead) agree(round() - (lead + 1) / 2);
}

void Lane::open_message(const Signature& signature, const CallOptions& options,
                        std::optional<Deadline> deadline) {
  waiter_.begin({signature, options, deadline, round()});
}

void Lane::arrive() noexcept {
  ArriveLine& line = arrive_line(rank(), round());
  line.history = history_;
  line.signature = waiter_.call().compared().word;
  line.count = waiter_.call().compared().count;
  line.round.store(round(), std::memory_order_release);
}

void Lane::meet(int peer) {
  if (peer == rank()) return;
  const ArriveLine& line = arrive_line(peer, round());
  waiter_.until(line.round, round(), peer);
  if (line.history != history_) throw_mismatch(round());
}

// Waits until all have come to `round`, to which this rank has come, and compares their calls.
void Lane::agree(std::uint64_t round) {
  const std::uint64_t mine = arrive_line(rank(), round).history;
  bool is_alike = true;
  for (int step = 1; step < size(); ++step) {
    const int peer = (rank() + step) % size();
    const ArriveLine& line = arrive_line(peer, round);
    waiter_.until(line.round, round, peer);
    is_alike = is_alike && line.history == mine;
  }
  if (!is_alike) throw_mismatch(round);
  agreed_ = round;
}

Signature Lane::signature_of(int of_rank, std::uint64_t round) const noexcept {
  const ArriveLine& line = arrive_line(of_rank, round);
  Signature signature;
  signature.word = line.signature;
  signature.count = line.count;
  return signature;
}

// The calls differ in one of the rounds up to `last`. All ranks look for the first one and compare
// with rank 0 there, so that all name the same two calls.
void Lane::throw_mismatch(std::uint64_t last) {
  for (std::uint64_t round = agreed_ + 1; round <= last; ++round) {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank()) waiter_.until(arrive_line(peer, round).round, round, peer);
    }
    const Signature first = signature_of(0, round);
    for (int other = 1; other < size(); ++other) {
      const Signature theirs = signature_of(other, round);
      if (theirs == first) continue;
      throw signature_mismatch(group_.shown.group, number(), {group_.shown.rank(0), first},
                               {group_.shown.rank(other), theirs});
    }
  }
  throw Error(ErrorCode::internal, "calls that differ have the same signatures");
}

void Lane::leave() {
  post(Counter::done, round());
  wait_all(Counter::done, round());
}

void Lane::post(Counter counter, std::uint64_t value) noexcept {
  line_of(control(rank()), counter).value.store(value, std::memory_order_release);
}

void Lane::wait_all(Counter counter, std::uint64_t value) {
  for (int step = 1; step < size(); ++step) wait(counter, value, (rank() + step) % size());
}

const std::atomic<std::uint64_t>& Lane::counter_of(int of_rank, Counter counter) const noexcept {
  return line_of(control(of_rank), counter).value;
}

std::byte* Lane::staging(int of_rank) const noexcept {
  return group_.segments.base(of_rank) + kStagingOffset + number_ * kLaneStaging;
}

std::byte* Lane::shown_slot(int of_rank) const noexcept {
  return staging(of_rank) + kShownOffset + (round() % kRounds) * kMaxShown;
}

std::byte* Lane::one_shot_slot(int of_rank) const noexcept {
  return staging(of_rank) + (round() % 2) * kMaxOneShot;
}

std::byte* Lane::chunk_slot(int of_rank, std::uint64_t chunk) const noexcept {
  return staging(of_rank) + 2 * kMaxOneShot + (chunk % kChunkSlots) * 2 * kMaxChunk;
}

std::byte* Lane::result_slot(int of_rank, std::uint64_t chunk) const noexcept {
  return chunk_slot(of_rank, chunk) + kMaxChunk;
}

}  // namespace muster::collectives::shm
