#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "collectives/mpi/waiter.hpp"
#include "collectives/signature.hpp"

namespace muster::collectives::mpi {

/// The most bytes that MPI is asked to move in one operation; counts and offsets of MPI 3 are ints,
/// and inside some libraries bytes are too.
inline constexpr std::size_t kLargestBytes = std::size_t{1} << 30;

/// Does the calls of one lane, one after the other.
///
/// All ranks first agree on the call, by one small MPI collective of signatures: MPI itself takes
/// calls that differ for one, and gives wrong results or waits for ever. A barrier is nothing more
/// than that. Then the call is one MPI collective, or several where it is too large for one:
///
///   all_reduce, reduce, broadcast   one piece of the vector after the other
///   all_gather(_v)                  a broadcast of each rank's share
///   reduce_scatter(_v)              a reduce of each rank's share to its rank
///   gather, scatter, all_to_all(_v) messages between two ranks
///
/// A message goes behind a header with its signature.
///
/// Cost of an agreement: an MPI all_reduce of 48 bytes; all_to_all_v gathers all lists of counts
/// beside, 16 n^2 bytes to each of n ranks.
///
/// One thread at a time.
class Lane {
 public:
  /// `context` outlives the lane. Tests take a smaller `largest_bytes`, the same on all ranks.
  Lane(WaitContext& context, int number, std::size_t largest_bytes)
      : context_(context),
        number_(number),
        largest_bytes_(largest_bytes),
        waiter_(context, number),
        memory_(std::make_shared<Memory>()) {}

  /// Does one call to its end or throws an Error, after which the lane is of no more use.
  void run(const Call& call, Deadline deadline);

  /// What must outlive a lane that has failed.
  std::shared_ptr<void> memory() const noexcept { return memory_; }

 private:
  /// Bytes to and from other ranks, at once; a rank below 0 is nobody.
  struct Exchange {
    int to = Call::kNobody;
    std::span<const std::byte> out = {};
    int from = Call::kNobody;
    std::span<std::byte> in = {};
  };
  /// The shares of a view that holds one for each rank, in elements.
  struct Shares {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> offsets;
  };

  /// What MPI reads and writes beside the caller's own memory. If the lane fails, MPI may go on
  /// with it, so it outlives the lane then.
  struct Memory {
    std::array<std::int64_t, 6> mine{};  // see agree()
    std::array<std::int64_t, 6> agreed{};
    Signature sent_header;
    Signature received_header;
    std::vector<Signature> signatures;
    std::vector<std::int64_t> pairs;
    std::vector<std::byte> scratch;  // a copy where MPI cannot work in place
    std::array<std::vector<int>, 4> ints;
  };

  void agree(bool is_in_place);
  [[noreturn]] void throw_mismatch();
  void agree_on_pairs(const Call& call);

  void dispatch(const Call& call);
  void all_reduce(const Call& call);
  void reduce(const Call& call);
  void all_gather(const Call& call);
  void reduce_scatter(const Call& call);
  void gather(const Call& call);
  void scatter(const Call& call);
  void all_to_all(const Call& call);
  void send_receive(const Call& call);

  void do_whole(const Operation& operation);
  void do_in_pieces(Operation operation, std::int64_t count);
  void exchange(const Exchange& exchange);
  void start_send(int to, std::span<const std::byte> data);
  void start_receive(int from, std::span<std::byte> data);
  void finish_messages();
  Request& next_request(int partner);
  void send_header(const Call& call);
  void receive_header(const Call& call);
  const std::byte* scratch_copy(ConstTensorView view);

  bool is_small(std::size_t bytes) const noexcept { return bytes <= largest_bytes_; }
  std::size_t largest_pair_list(const Call& call) const;
  /// Of these counts, or equal ones where there are none.
  Shares shares_of(std::span<const std::int64_t> counts, ConstTensorView whole) const;
  std::span<const int> as_ints(const std::vector<std::int64_t>& values, std::size_t slot);

  WaitContext& context_;
  int number_;
  std::size_t largest_bytes_;
  Waiter waiter_;
  std::vector<Request> requests_;   // of the messages under way
  std::vector<int> partners_;       // [requests_]
  bool are_all_in_place_ = false;   // every rank of the call at hand
  std::shared_ptr<Memory> memory_;  // shared with the session once the lane has failed
};

}  // namespace muster::collectives::mpi
