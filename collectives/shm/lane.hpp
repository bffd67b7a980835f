#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/shm/group.hpp"
#include "collectives/shm/waiter.hpp"
#include "kernels/device/device.hpp"

namespace muster::collectives::shm {

/// Which of a rank's numbers: see LaneControl.
enum class Counter { done, staged, reduced };

/// How many pieces and messages went between this rank and another, either way.
struct PairProgress {
  std::uint64_t pieces_sent = 0;
  std::uint64_t pieces_taken = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_taken = 0;
};

/// This rank's end of one lane: meetings with the other ranks, and the memory it may use there.
///
/// A call is a *round*: open() it, arrive() with its signature and up to kInlineBytes of payload,
/// meet() the others (their calls are compared, their payloads readable), and where others read or
/// write this rank's own memory, leave() together. Every rank counts rounds alike. A call in which
/// one rank has nothing to wait for may leave out its meeting: the calls are compared later.
///
/// What a rank writes before arrive() or post() is seen by a peer after meet() or wait() for it.
///
/// One thread at a time.
class Lane {
 public:
  /// `device` reduces and copies; used by this lane's thread alone while a call runs.
  Lane(const Group& group, int number, kernels::Device& device);

  const Group& group() const noexcept { return group_; }
  int rank() const noexcept { return group_.rank; }
  int size() const noexcept { return group_.size; }
  int number() const noexcept { return static_cast<int>(number_); }
  kernels::Device& device() const noexcept { return device_; }

  /// Begins a round once all have come to the one `lead` before, 1 to kMaxLead: all that was shown
  /// to them in rounds before that one has been read. The deadline runs from here unless one is
  /// given.
  void open(const Signature& signature, const CallOptions& options,
            std::optional<Deadline> deadline = {}, std::uint64_t lead = 1);
  /// Begins a send_receive, which is no round and needs no meeting.
  void open_message(const Signature& signature, const CallOptions& options,
                    std::optional<Deadline> deadline = {});

  /// Payload of this round: write mine before arrive(), read others' after meet().
  std::span<std::byte, kInlineBytes> payload() noexcept {
    return arrive_line(rank(), round()).payload;
  }
  std::span<const std::byte, kInlineBytes> payload(int of_rank) const noexcept {
    return arrive_line(of_rank, round()).payload;
  }
  template <typename T>
  T payload_as(int of_rank) const noexcept {
    static_assert(sizeof(T) <= kInlineBytes);
    T value;
    std::memcpy(&value, payload(of_rank).data(), sizeof(T));
    return value;
  }
  template <typename T>
  void set_payload(const T& value) noexcept {
    static_assert(sizeof(T) <= kInlineBytes);
    std::memcpy(payload().data(), &value, sizeof(T));
  }

  void arrive() noexcept;
  /// Waits for all, or for one; Error(invalid_argument) when a rank came with another call.
  void meet() { agree(round()); }
  void meet(int peer);
  /// Tells the others that I am done with their memory, and waits until all are done with mine.
  void leave();

  /// Sets one of my counters, which never go back.
  void post(Counter counter, std::uint64_t value) noexcept;
  void wait(Counter counter, std::uint64_t value, int peer) {
    if (peer != rank()) waiter_.until(counter_of(peer, counter), value, peer);
  }
  void wait_all(Counter counter, std::uint64_t value);
  /// Waits for any of these; see Waiter.
  void wait_any(std::span<const WaitGoal> goals) { waiter_.until_any(goals); }

  /// The Error of a peer whose memory is gone, or of what made it go; see Waiter.
  [[noreturn]] void throw_unreachable(int peer, std::string_view how) {
    waiter_.throw_unreachable(peer, how);
  }

  std::uint64_t round() const noexcept { return waiter_.call().round; }
  /// The call that is open, as errors name it.
  std::string describe_call() const { return waiter_.describe_call(); }

  /// Copies one chunk into this rank's staging by `fill(chunk)`, once all are through with the
  /// chunk that lay there before, be it of this call or an earlier one.
  template <typename Fill>
  void stage_chunk(std::uint64_t chunk, Fill&& fill) {
    if (chunk >= kChunkSlots) wait_all(Counter::reduced, chunk + 1 - kChunkSlots);
    fill(chunk);
    post(Counter::staged, chunk + 1);
  }
  /// The first chunk of a staged call, counted over all calls of the lane, alike on every rank.
  std::uint64_t take_chunks(std::uint64_t count) noexcept {
    chunks_ += count;
    return chunks_ - count;
  }

  /// Staging of `of_rank`: what it shows the others in this round, [kMaxShown] bytes, and where it
  /// waits for all in each round, [kMaxOneShot]; slots for chunks, [kMaxChunk].
  std::byte* shown_slot(int of_rank) const noexcept;
  std::byte* one_shot_slot(int of_rank) const noexcept;
  std::byte* chunk_slot(int of_rank, std::uint64_t chunk) const noexcept;
  std::byte* result_slot(int of_rank, std::uint64_t chunk) const noexcept;

  /// Memory of this rank's own for a part of what another has: tile_bytes() for each rank, so large
  /// that the kernel's call counts little, and so small that all are kept by a second-level cache.
  std::byte* tile(int for_rank) noexcept {
    return tiles_.data() + static_cast<std::size_t>(for_rank) * tile_bytes();
  }
  std::size_t tile_bytes() const noexcept {
    return std::clamp(kTiles / static_cast<std::size_t>(size()), 64 * kKiB, 256 * kKiB);
  }

  /// Lists of `size()` views for the reduction kernel, kept so that a call allocates nothing.
  std::vector<ConstTensorView>& sources() noexcept { return sources_; }
  std::vector<TensorView>& destinations() noexcept { return destinations_; }
  /// Two lists of `size()` numbers, for where shares begin.
  std::span<std::int64_t> begins(std::size_t list) noexcept { return begins_[list]; }

  /// Messages between this rank and `peer`.
  PairProgress& progress(int peer) noexcept { return progress_[static_cast<std::size_t>(peer)]; }

 private:
  static constexpr std::size_t kTiles = 1 * kMiB;

  LaneControl& control(int of_rank) const noexcept {
    return group_.control(of_rank).lanes[number_];
  }
  ArriveLine& arrive_line(int of_rank, std::uint64_t round) const noexcept {
    return control(of_rank).arrive[round % kRounds];
  }
  const std::atomic<std::uint64_t>& counter_of(int of_rank, Counter counter) const noexcept;
  std::byte* staging(int of_rank) const noexcept;
  Signature signature_of(int of_rank, std::uint64_t round) const noexcept;
  void agree(std::uint64_t round);
  [[noreturn]] void throw_mismatch(std::uint64_t round);

  const Group& group_;
  std::size_t number_;
  kernels::Device& device_;
  Waiter waiter_;
  std::uint64_t history_ = 0;  // digest of the calls so far
  std::uint64_t agreed_ = 0;   // the last round to which all had come with the same calls
  std::uint64_t chunks_ = 0;
  std::vector<ConstTensorView> sources_;
  std::vector<TensorView> destinations_;
  std::array<std::vector<std::int64_t>, 2> begins_;
  std::vector<PairProgress> progress_;
  std::vector<std::byte> tiles_;  // [size][tile_bytes()]; none where private memory is out of reach
};

}  // namespace muster::collectives::shm
