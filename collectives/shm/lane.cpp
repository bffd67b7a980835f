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
                std::optional<Deadline> deadline) {
  waiter_.begin({signature, options, deadline, round() + 1});
}

void Lane::open_message(const Signature& signature, const CallOptions& options,
                        std::optional<Deadline> deadline) {
  waiter_.begin({signature, options, deadline, round()});
}

void Lane::arrive() noexcept {
  ArriveLine& line = arrive_line(rank());
  line.signature = waiter_.call().signature.word;
  line.count = waiter_.call().signature.count;
  line.round.store(round(), std::memory_order_release);
}

void Lane::meet() {
  const Signature mine = waiter_.call().signature;
  bool is_alike = true;
  for (int step = 1; step < size(); ++step) {
    const int peer = (rank() + step) % size();
    const ArriveLine& line = arrive_line(peer);
    waiter_.until(line.round, round(), peer);
    is_alike = is_alike && line.signature == mine.word && line.count == mine.count;
  }
  if (!is_alike) throw_mismatch();
}

// All ranks compare with rank 0, so that all name the same two calls.
void Lane::throw_mismatch() const {
  const auto signature_of = [this](int of_rank) {
    Signature signature;
    signature.word = arrive_line(of_rank).signature;
    signature.count = arrive_line(of_rank).count;
    return signature;
  };
  int other = 1;
  while (signature_of(other) == signature_of(0)) ++other;
  throw signature_mismatch(group_.name, static_cast<int>(number_), {0, signature_of(0)},
                           {other, signature_of(other)});
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
