#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collectives/communicator.hpp"
#include "kernels/base/error.hpp"

/// What lies where in a rank's segment: the memory that all its neighbours map.
///
///   0        control block          lines of 128 bytes, each written by its owner alone
///   64 KiB   kept for the record of the last operations (4096 entries of 128 bytes and a page)
///   2 MiB    staging                one part per lane
///   64 MiB   pairs                  per lane and other rank: lines for messages to and from it
///   ...      rings                  per lane and other rank: the bytes of messages to it
///   ...      heap                   symmetric memory, to the end of the segment
///
/// Where rings and heap begin depends on the number of ranks.
///
/// The file is sparse: what is never touched costs nothing.
namespace muster::collectives::shm {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;
inline constexpr std::size_t kHugePage = 2 * kMiB;

/// Two cache lines: neighbouring lines are fetched in pairs, and nobody should fetch a line that
/// another rank is writing.
inline constexpr std::size_t kLine = 128;

/// The lanes of callers and one more, on which symmetric memory is handed out.
inline constexpr int kLanes = Communicator::kMaxLanes + 1;
inline constexpr int kMemoryLane = Communicator::kMaxLanes;

/// Payload that travels in the arrive line itself, so that a small message costs one cache line.
inline constexpr std::size_t kInlineBytes = 40;

/// "I have come to this round, with this call." Each rank has kRounds of them per lane, used in
/// turn. What peers read each time lies in one cache line; the call itself is read to name calls
/// that differ.
struct alignas(kLine) ArriveLine {
  std::atomic<std::uint64_t> round{0};  // written last, with release
  std::uint64_t history = 0;            // digest of the calls so far: alike where they were
  std::array<std::byte, kInlineBytes> payload{};
  alignas(64) std::uint64_t signature = 0;
  std::int64_t count = 0;
};
static_assert(offsetof(ArriveLine, payload) + kInlineBytes <= 64, "one cache line for it all");

/// A rank comes to round r only when all have come to round r - kMaxLead and it has compared their
/// calls up to there. So when a rank writes the line of round q again, at q + kRounds, all have
/// come to q + kMaxLead and read it.
inline constexpr std::uint64_t kRounds = 64;
inline constexpr std::uint64_t kMaxLead = kRounds / 2;

/// A number that only grows.
struct alignas(kLine) CounterLine {
  std::atomic<std::uint64_t> value{0};
};

/// How far this rank is on one lane.
struct LaneControl {
  std::array<ArriveLine, kRounds> arrive;
  CounterLine done;     // rounds after which this rank reads nobody's memory any more
  CounterLine staged;   // chunks copied into this rank's staging
  CounterLine reduced;  // chunks that this rank has taken from the others' staging, all its own
                        // slice reduced where the call reduces
};

/// Sizes that all ranks must agree on: rank 0 chooses them, all read them there.
struct alignas(kLine) Tuning {
  std::uint64_t one_shot_bytes = 0;  // private buffers up to this are reduced by every rank
  std::uint64_t chunk_bytes = 0;     // pieces of larger ones, a slice of each per rank
};

/// "I have sent this piece, of this message." Each rank has kRingSlots of them for every other rank
/// and lane, used in turn. A message of up to kInlineBytes is its one piece's payload; the payload
/// of others begins with the place of the whole message in the sender's heap, if it is read there.
struct alignas(kLine) PieceLine {
  std::atomic<std::uint64_t> number{0};  // pieces sent up to this one; written last, with release
  std::uint64_t signature = 0;
  std::int64_t count = 0;
  std::array<std::byte, kInlineBytes> payload{};
};

/// "I have taken so many pieces", or kRefused: a message was not what this rank wanted, and both
/// signatures tell why.
struct alignas(kLine) ReceiptLine {
  static constexpr std::uint64_t kRefused = ~std::uint64_t{0};

  std::atomic<std::uint64_t> taken{0};  // written last, with release
  std::uint64_t sent_signature = 0;
  std::int64_t sent_count = 0;
  std::uint64_t wanted_signature = 0;
  std::int64_t wanted_count = 0;
};

/// A message travels in pieces of a slot at most; so much may be sent before anybody receives.
inline constexpr std::size_t kRingSlot = 128 * kKiB;
inline constexpr std::size_t kRingSlots = 4;
inline constexpr std::size_t kRing = kRingSlots * kRingSlot;

/// What this rank writes for one other rank on one lane.
struct PairControl {
  std::array<PieceLine, kRingSlots> pieces;  // of messages to it
  ReceiptLine receipt;                       // of messages from it
};

struct alignas(kLine) AbortReason {
  std::array<char, 512> text{};
  ErrorCode code = {};  // invalid_argument: all throw the text as it stands
};

/// All zero bytes are a control block in which nothing has happened: a fresh file is ready for use.
struct ControlBlock {
  CounterLine departed;         // 1: this rank has left the group in good order
  CounterLine heartbeats;       // signs of life while busy elsewhere
  CounterLine aborted;          // 1 + number of the rank that aborted; any rank sets it, once
  CounterLine probe_address;    // where this line is in the rank's own process
  CounterLine reaches_private;  // 1: this rank reaches the others' private memory
  AbortReason reason;           // why this rank aborted; written before `aborted` anywhere
  Tuning tuning;
  std::array<LaneControl, kLanes> lanes;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics must work between processes");

inline constexpr std::size_t kRecordOffset = 64 * kKiB;
inline constexpr std::size_t kStagingOffset = kHugePage;
static_assert(sizeof(ControlBlock) <= kRecordOffset);

/// A lane's staging: two slots for whole small messages, then two slots of a chunk of inputs and a
/// chunk of results each, then a slot per round for what is shown to the others.
inline constexpr std::size_t kMaxOneShot = 512 * kKiB;
inline constexpr std::size_t kMaxChunk = 1 * kMiB;
inline constexpr std::size_t kChunkSlots = 2;
inline constexpr std::size_t kMaxShown = 8 * kKiB;
inline constexpr std::size_t kShownOffset = 2 * kMaxOneShot + kChunkSlots * 2 * kMaxChunk;
inline constexpr std::size_t kLaneStaging = kShownOffset + kRounds * kMaxShown;
inline constexpr std::size_t kPairsOffset = 64 * kMiB;
static_assert(kStagingOffset + kLanes * kLaneStaging <= kPairsOffset);

inline constexpr std::size_t whole_huge_pages(std::size_t bytes) noexcept {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}
/// One entry per lane of callers and rank.
inline constexpr std::size_t rings_begin(int ranks) noexcept {
  const std::size_t pairs = Communicator::kMaxLanes * static_cast<std::size_t>(ranks);
  return kPairsOffset + whole_huge_pages(pairs * sizeof(PairControl));
}
inline constexpr std::size_t heap_begin(int ranks) noexcept {
  const std::size_t pairs = Communicator::kMaxLanes * static_cast<std::size_t>(ranks);
  return rings_begin(ranks) + whole_huge_pages(pairs * kRing);
}

}  // namespace muster::collectives::shm
