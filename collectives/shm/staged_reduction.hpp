#pragma once

#include <optional>

#include "collectives/call.hpp"
#include "collectives/shm/lane.hpp"
#include "collectives/shm/pieces.hpp"

namespace muster::collectives::shm {

/// All-reduce or reduce of private buffers, in chunks. Per chunk c, n ranks, rank j's slice is 1/n
/// of it:
///
///   stage   copy the others' slices of my input to my staging          (n-1)/n read + written
///   reduce  my slice of n inputs -> my result slot and my output       1 read + 2/n written
///   gather  the others' slices from their result slots to my output    (n-1)/n read + written
///
/// Only who gets the result (in a reduce, the root) gathers and has an output. My own slice is
/// never copied: 5 - 2/n bytes moved per byte and rank. Two chunks are in flight, so that a rank
/// stages chunk c + 1 while others still reduce chunk c:
///
///   time ->   stage 0 | stage 1 . reduce 0 | stage 2 . gather 0 . reduce 1 | …
///
/// A slot of inputs is written again only when the counters say that its last readers are through.
/// A slot of results needs no counter of its own: a rank stages chunk c after it has gathered chunk
/// c - 2, and nobody reduces chunk c before all have staged it.
class StagedReduction {
 public:
  StagedReduction(Lane& lane, const Call& call) : lane_(lane), call_(call) {}

  /// Copies what goes into staging first. Optional, before the ranks have met.
  void start();
  /// The rest, after they have met.
  void finish();

 private:
  void begin();
  void stage(std::uint64_t chunk);
  void copy_in(std::uint64_t chunk);
  void reduce(std::uint64_t chunk);
  void reduce_slice(std::uint64_t chunk, const Piece& mine);
  void gather(std::uint64_t chunk);
  Piece slice(std::uint64_t chunk, int rank) const noexcept;
  bool gets_result() const noexcept { return call_.out.count() > 0; }
  std::byte* output(std::uint64_t chunk, const Piece& slice) const noexcept;

  Lane& lane_;
  const Call& call_;
  std::optional<Chunks> chunks_;
  std::uint64_t next_to_stage_ = 0;
};

}  // namespace muster::collectives::shm
