#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "collectives/trace/text.hpp"

/// The flight recorder's memory: what a rank did last and what it does now, in a memory file that
/// outlives it. One process writes (its threads may do so at once), any other reads at any moment,
/// without locks. A change here changes kLayoutVersion.
///
///   page "now"   who the rank is, its phase, its waits, seconds waited per peer, its stack
///   4096 entries of 128 bytes: call number n lies in entry n mod 4096
namespace muster::collectives::trace {

inline constexpr std::uint64_t kMagic = 0x3143'4152'5453'554D;  // "MUSTRAC1" in memory
inline constexpr std::uint32_t kLayoutVersion = 1;
inline constexpr std::size_t kEntries = 4096;
inline constexpr std::size_t kWaitSlots = 8;     // waits of one rank at once
inline constexpr std::size_t kMostPeers = 1024;  // whose waits are counted apart
inline constexpr std::size_t kMostFrames = 48;

/// A group of fields that is written as a whole and read as a whole, or recognised as torn. Each
/// writing has a stamp above 0, larger than those before it: the version is 2 * stamp - 1 while the
/// fields change, 2 * stamp when they are there. The words are stored with release and loaded with
/// acquire, which keeps them between the two versions; on x86 both are plain moves.
template <typename Fields>
class Versioned {
 public:
  using Words = std::array<std::uint64_t, sizeof(Fields) / 8>;
  static_assert(sizeof(Words) == sizeof(Fields), "fields must fill whole words");

  /// One writer at a time.
  void store(std::uint64_t stamp, const Fields& fields) noexcept {
    version_.store(2 * stamp - 1, std::memory_order_relaxed);
    const Words words = std::bit_cast<Words>(fields);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words_[i].store(words[i], std::memory_order_release);
    }
    version_.store(2 * stamp, std::memory_order_release);
  }
  void store_next(const Fields& fields) noexcept { store(stamp() + 1, fields); }

  /// The stamp of the last whole writing, 0 if there was none or one is under way, and its fields.
  std::uint64_t load(Fields& fields) const noexcept {
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    Words words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = words_[i].load(std::memory_order_acquire);
    }
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) return 0;
    fields = std::bit_cast<Fields>(words);
    return version / 2;
  }

  std::uint64_t stamp() const noexcept { return version_.load(std::memory_order_relaxed) / 2; }

 private:
  std::atomic<std::uint64_t> version_;
  std::array<std::atomic<std::uint64_t>, sizeof(Fields) / 8> words_;
};

/// What a call was asked to do. Texts end at a zero byte or at their field's end.
struct CallFields {
  std::uint64_t begin = 0;      // ticks, see Clock
  std::uint64_t signature = 0;  // Signature::word
  std::int64_t count = 0;       // Signature::count
  std::uint64_t partners = 0;   // send_receive: Call::to + 1 | (Call::from + 1) << 32
  std::uint64_t lane = 0;
  Text<3> group;
  Text<6> label;
};

/// How a call ended, in one word that changes at once:
///
///   outcome (2 bits) | lap (14) | the lowest 48 bits of the tick when it ended, lowest first
///
/// with lap = number / kEntries: the end of a call whose entry was taken by a later one is dropped.
///
/// done_at_once: without a tick, some milliseconds at most after it began.
enum class Outcome : std::uint8_t { running, done, failed, done_at_once };

inline constexpr int kLapShift = 2;
inline constexpr int kTicksShift = 16;

constexpr std::uint64_t finish_word(std::uint64_t number, Outcome outcome,
                                    std::uint64_t ticks) noexcept {
  const std::uint64_t lap = number / kEntries % (std::uint64_t{1} << (kTicksShift - kLapShift));
  return static_cast<std::uint64_t>(outcome) | lap << kLapShift | ticks << kTicksShift;
}
constexpr std::uint64_t running_word(std::uint64_t number) noexcept {
  return finish_word(number, Outcome::running, 0);
}

struct alignas(128) Entry {
  Versioned<CallFields> call;  // its stamp is the call's number + 1
  std::atomic<std::uint64_t> finish;
};
static_assert(sizeof(Entry) == 128);

struct PhaseFields {
  std::uint64_t since = 0;
  std::int64_t step = -1;  // none
  Text<4> name;
};

/// A wait that has lasted some milliseconds.
struct WaitFields {
  CallFields call;
  std::uint64_t since = 0;      // ticks when it was shown; 0: nobody waits here
  std::int64_t waited_ns = 0;   // what it had lasted then
  std::uint64_t peer = 0;       // key, see PeerName
  std::int32_t peer_rank = -1;  // in the call's group
  std::uint32_t reserved = 0;
};
struct WaitSlot {
  std::atomic<std::uint64_t> is_taken;
  Versioned<WaitFields> wait;
};

struct StackFields {
  std::uint64_t at = 0;  // ticks
  std::uint64_t depth = 0;
  std::array<std::uint64_t, kMostFrames> frames{};  // addresses, innermost first
};

/// How long the rank has waited for one peer.
struct WaitedFor {
  std::atomic<std::uint64_t> peer;  // key; 0: free
  std::atomic<std::uint64_t> nanoseconds;
};

// Lines of the cache that change at different rates are kept apart.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct NowPage {
  std::atomic<std::uint64_t> magic;  // last of the header: before it nothing counts
  std::uint32_t version;
  std::uint32_t entries;
  std::int32_t pid;
  std::int32_t rank;
  std::int32_t size;
  std::uint32_t uses_cycles;  // what a tick is: 1 a cycle of the processor, 0 a nanosecond
  std::uint64_t base_ticks;   // both clocks at one moment
  std::int64_t base_ns;
  std::atomic<std::uint64_t> waits_since;       // ticks: when the sums in `waited` began
  alignas(64) std::atomic<std::uint64_t> next;  // number of the next call
  alignas(64) Versioned<PhaseFields> phase;
  alignas(64) std::array<WaitSlot, kWaitSlots> waits;
  Versioned<StackFields> stack;
  std::array<WaitedFor, kMostPeers> waited;
};

struct Layout {
  alignas(4096) NowPage now;
  alignas(4096) std::array<Entry, kEntries> entries;
};

}  // namespace muster::collectives::trace
