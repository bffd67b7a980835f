#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/base/memory.hpp"

namespace muster::runtime {

/// What one rank found of its link to another; 0 where it was not measured.
struct PairTimes {
  double latency_s = 0.0;         // one way, 8 bytes: by the fastest round trip
  double usual_latency_s = 0.0;   // by the median
  double out_bytes_per_s = 0.0;   // from this rank
  double in_bytes_per_s = 0.0;    // to this rank
  double both_bytes_per_s = 0.0;  // each way, both at once
};

/// Measures links between two ranks by messages over the communicator.
///
/// Latency: half of the fastest of 16 round trips of 8 bytes, and half of their median. Bandwidth:
/// chunks of 64 KiB, at most eight on their way, every fourth answered by 8 bytes; the receiver's
/// clock runs from the sixth chunk, when whatever lets a burst pass (a token bucket, buffers on the
/// way) is used up, to 4 MiB or 35 ms, whichever comes first. Two messages of 8 bytes must fit into
/// what the communicator buffers. A stream shorter than 10 ms is repeated twice for the best of
/// three. Both at once: exchanges of 256 KiB for about 20 ms.
///
/// Owns its buffers; one thread at a time.
class PairMeter {
 public:
  /// `group` and `memory` (the group's own, or plain) outlive the meter. Collective where the
  /// memory is.
  explicit PairMeter(collectives::Communicator& group, MemorySource& memory);

  /// Both ranks of the pair call it at the same time, and get the same numbers, seen from each.
  PairTimes measure(int partner);

 private:
  void ping(int partner, PairTimes& times);
  double stream_out(int partner);
  double stream_in(int partner);
  double send_stream(int partner);
  double receive_stream(int partner);
  double exchange(int partner, double bytes_per_s);
  double share(int partner, double value, bool is_mine);

  collectives::Communicator& group_;
  Memory memory_;
};

}  // namespace muster::runtime
