#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "collectives/group_names.hpp"
#include "collectives/shm/peer_watch.hpp"
#include "collectives/shm/segments.hpp"
#include "kernels/base/tensor_view.hpp"

namespace muster::collectives::shm {

/// A rank as errors name it.
struct Peer {
  pid_t pid = 0;
  std::string host;     // for people
  std::string host_id;  // equal ids share memory
};

/// How a wait passes its time. With cores enough a rank polls, since waking up costs far more than
/// most waits last; with fewer cores than ranks it gives its core away nearly at once, since the
/// rank it waits for may need that very core.
struct WaitPolicy {
  int polls = 0;         // polls with a pause before the first yield
  double yield_s = 0.0;  // then yields for so long, then sleeps
  static WaitPolicy of(int cores_per_rank) noexcept;
};

/// What the lanes of one rank share: who is in the group and where their memory is. Unchanged once
/// the group is made, so any thread may read it.
struct Group {
  std::string name;  // in records
  GroupNames shown;  // in errors
  int rank = 0;
  int size = 1;
  bool reaches_private = false;  // every rank may read and write the others' private memory
  std::vector<Peer> peers;       // [size]
  Segments segments;
  PeerWatch watch;
  WaitPolicy policy;
  Tuning tuning;

  ControlBlock& control(int of_rank) const noexcept { return segments.control(of_rank); }

  /// What `of_rank` writes for `peer` on a lane of callers: lines, and kRing bytes.
  PairControl& pair(int of_rank, int lane, int peer) const noexcept {
    return reinterpret_cast<PairControl*>(segments.base(of_rank) +
                                          kPairsOffset)[pair_index(lane, peer)];
  }
  std::byte* ring(int of_rank, int lane, int peer) const noexcept {
    return segments.base(of_rank) + rings_begin(size) + pair_index(lane, peer) * kRing;
  }

  /// "rank 1 (pid 4711, host a)"
  std::string describe(int of_rank) const;
  /// Where `data` begins in this rank's segment, if all of it lies in the heap.
  std::optional<std::uint64_t> heap_offset(ConstTensorView data) const noexcept;

 private:
  std::size_t pair_index(int lane, int peer) const noexcept {
    return static_cast<std::size_t>(lane) * static_cast<std::size_t>(size) +
           static_cast<std::size_t>(peer);
  }
};

}  // namespace muster::collectives::shm
