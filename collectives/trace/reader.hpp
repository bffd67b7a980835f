#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/signature.hpp"
#include "collectives/trace/clock.hpp"
#include "collectives/trace/memory.hpp"

namespace muster::collectives::trace {

/// A call as it stands in a record. Times are on the host's monotonic clock.
struct CallView {
  Signature signature;
  std::string group;
  std::string label;  // clipped to 48 bytes
  int lane = 0;
  int to = Call::kNobody;
  int from = Call::kNobody;

  /// The same call as a peer's: what a rank waits in is what its peer has to enter, too. Calls
  /// between two ranks have no number to be matched by.
  bool is_same_call(const CallView& other) const;
};

struct EntryView {
  CallView call;
  std::uint64_t number = 0;  // of all the rank's calls
  Outcome outcome = Outcome::running;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // of a call that has ended
};

struct WaitView {
  CallView call;
  std::int64_t since_ns = 0;
  std::uint64_t peer = 0;  // PeerName::key()
  int peer_rank = 0;       // in the call's group
};

struct StackView {
  std::uint64_t stamp = 0;  // 0: none was kept; grows with every one
  std::vector<std::uint64_t> frames;
};

struct WaitedView {
  std::uint64_t peer = 0;
  double seconds = 0.0;
};

/// What a rank does at the moment.
struct NowView {
  int pid = 0;
  int rank = -1;  // -1: it does not know yet
  int size = 0;
  std::uint64_t calls = 0;  // so far
  std::string phase;
  std::int64_t phase_since_ns = 0;
  std::int64_t step = -1;  // -1: none
  std::vector<WaitView> waits;
  std::vector<WaitedView> waited;
  double waited_within_s = 0.0;  // the sums in `waited` began so long ago
};

/// Reads a record that another process writes, or wrote until it died. The memory is not trusted:
/// whatever lies there, a read ends, stays within it, and texts hold printable characters alone.
class RecordReader {
 public:
  /// Error(io) as MappedRecord.
  explicit RecordReader(const Fd& memory);

  /// False until the rank has opened its recorder: then nothing below says anything. Error(io) when
  /// the record has another layout than this program reads.
  bool is_open() const;

  NowView now() const;
  /// Up to `most` last calls, oldest first; those that are being overwritten are left out.
  std::vector<EntryView> last_calls(std::size_t most) const;
  /// The newest of them, if any.
  std::optional<EntryView> last_call() const;
  StackView stack() const;

 private:
  ClockLine line() const;
  std::optional<EntryView> entry(std::uint64_t number, const ClockLine& line) const;

  MappedRecord record_;
};

}  // namespace muster::collectives::trace
