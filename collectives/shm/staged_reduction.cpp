#include "collectives/shm/staged_reduction.hpp"

#include <array>
#include <span>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {

void StagedReduction::begin() {
  const auto width = static_cast<std::int64_t>(size_of(call_.in.dtype));
  const auto chunk_bytes = static_cast<std::int64_t>(lane_.group().tuning.chunk_bytes);
  chunks_.emplace(lane_, call_.in.count(), chunk_bytes / width);
  next_to_stage_ = chunks_->begin();
}

void StagedReduction::start() {
  begin();
  stage(next_to_stage_++);
}

void StagedReduction::finish() {
  if (!chunks_) begin();
  const std::uint64_t end = chunks_->end();
  if (next_to_stage_ == chunks_->begin()) stage(next_to_stage_++);
  for (std::uint64_t chunk = chunks_->begin(); chunk < end; ++chunk) {
    if (next_to_stage_ < end) stage(next_to_stage_++);
    reduce(chunk);
    if (gets_result()) gather(chunk);
  }
}

Piece StagedReduction::slice(std::uint64_t chunk, int rank) const noexcept {
  return slice_of(chunks_->piece(chunk).count, call_.in.dtype, rank, lane_.size());
}

std::byte* StagedReduction::output(std::uint64_t chunk, const Piece& slice) const noexcept {
  return element(call_.out.data, call_.out.dtype, chunks_->piece(chunk).begin + slice.begin);
}

void StagedReduction::stage(std::uint64_t chunk) {
  lane_.stage_chunk(chunk, [this](std::uint64_t number) { copy_in(number); });
}

void StagedReduction::copy_in(std::uint64_t chunk) {
  const Dtype dtype = call_.in.dtype;
  const std::byte* const in = element(call_.in.data, dtype, chunks_->piece(chunk).begin);
  std::byte* const slot = lane_.chunk_slot(lane_.rank(), chunk);
  for (int step = 1; step < lane_.size(); ++step) {
    const Piece theirs = slice(chunk, (lane_.rank() + step) % lane_.size());
    copy(lane_, element(slot, dtype, theirs.begin), element(in, dtype, theirs.begin),
         bytes_of(theirs, dtype), false);
  }
}

void StagedReduction::reduce(std::uint64_t chunk) {
  // Whoever has staged this chunk has also gathered the results that my slot held before.
  lane_.wait_all(Counter::staged, chunk + 1);
  const Piece mine = slice(chunk, lane_.rank());
  if (mine.count > 0) reduce_slice(chunk, mine);
  lane_.post(Counter::reduced, chunk + 1);
}

void StagedReduction::reduce_slice(std::uint64_t chunk, const Piece& mine) {
  const Dtype dtype = call_.in.dtype;
  const std::int64_t begin = chunks_->piece(chunk).begin + mine.begin;
  for (int rank = 0; rank < lane_.size(); ++rank) {
    const bool is_mine = rank == lane_.rank();
    const std::byte* const data = is_mine
                                      ? element(call_.in.data, dtype, begin)
                                      : element(lane_.chunk_slot(rank, chunk), dtype, mine.begin);
    lane_.sources()[static_cast<std::size_t>(rank)] = {data, dtype, 1, mine.count};
  }
  std::byte* const result = element(lane_.result_slot(lane_.rank(), chunk), dtype, mine.begin);
  std::array<TensorView, 2> destinations = {TensorView(result, dtype, 1, mine.count)};
  if (gets_result()) destinations[1] = {output(chunk, mine), dtype, 1, mine.count};
  kernels::reduce(lane_.device(),
                  {.destinations = std::span(destinations).first(gets_result() ? 2 : 1),
                   .sources = lane_.sources(),
                   .op = call_.op});
}

void StagedReduction::gather(std::uint64_t chunk) {
  const Dtype dtype = call_.in.dtype;
  const bool is_streaming = call_.in.data != call_.out.data && exceeds_caches(call_.in.bytes());
  for (int step = 1; step < lane_.size(); ++step) {
    const int peer = (lane_.rank() + step) % lane_.size();
    const Piece theirs = slice(chunk, peer);
    lane_.wait(Counter::reduced, chunk + 1, peer);
    copy(lane_, output(chunk, theirs), element(lane_.result_slot(peer, chunk), dtype, theirs.begin),
         bytes_of(theirs, dtype), is_streaming);
  }
}

}  // namespace muster::collectives::shm
