#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/call.hpp"
#include "collectives/trace/text.hpp"
#include "kernels/base/memory.hpp"
#include "kernels/base/tensor_view.hpp"

namespace muster::collectives {

/// A collective that has been enqueued. wait() returns when its result is in place on this rank and
/// its inputs may be overwritten, or throws what went wrong. Destroying a handle that was not
/// waited for waits (and logs an error that nobody asked for). Move-only.
class Pending {
 public:
  class Work {
   public:
    virtual ~Work() = default;
    virtual void wait() = 0;
    virtual bool is_done() noexcept = 0;
  };

  Pending() = default;  // done already
  explicit Pending(std::unique_ptr<Work> work) : work_(std::move(work)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept;
  ~Pending();

  /// Throws the call's error the first time; afterwards, and after a move, there is nothing left to
  /// wait for.
  void wait();
  bool is_done() noexcept { return work_ == nullptr || work_->is_done(); }

 private:
  friend class Communicator;

  void finish() noexcept;

  std::unique_ptr<Work> work_;
  std::uint64_t ticket_ = 0;  // of the call in this process's record
};

/// The ranks of one group, and the collectives among them.
///
/// Every rank makes the same calls in the same order per lane with the same dtype, count and op;
/// each call carries a signature of these, and a mismatch is an Error(invalid_argument) on all
/// ranks that names both calls; on the root of a small broadcast, which waits for nobody, in one of
/// its next calls. Results are bitwise the same on every rank: contributions are
/// combined in rank order in f32 and rounded once, whatever the size. `out` may be `in`, whole; in
/// all_gather `in` may also be this rank's share of `out`, in reduce_scatter `out` this rank's
/// share of `in`; the same on the root of gather and scatter. all_to_all never works in place. Zero
/// elements and any alignment of an element are ordinary. One thread at a time per lane.
///
/// Errors: timeout and peer_lost leave the group unusable on this rank, as does a mismatch between
/// ranks: later calls throw the same error. abort() so that the others stop waiting, then destroy
/// it. invalid_argument from a wrong call is thrown before anything is sent and changes nothing.
class Communicator {
 public:
  /// Lanes are numbered from 0; a call on a lane beyond is an invalid_argument.
  static constexpr int kMaxLanes = 4;

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  const std::string& name() const noexcept { return name_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// "self", "shm", …
  virtual std::string_view backend() const noexcept = 0;

  /// out[i] = op over ranks of in[i]. in, out: contiguous, same dtype and count.
  [[nodiscard]] Pending all_reduce(ConstTensorView in, TensorView out, ReduceOp op,
                                   const CallOptions& options = {});
  /// out = the concatenation over ranks of in. out.count() == size() * in.count().
  [[nodiscard]] Pending all_gather(ConstTensorView in, TensorView out,
                                   const CallOptions& options = {});
  /// out = this rank's share of the reduction: elements [rank * n, (rank + 1) * n) of op over ranks
  /// of in, with n = out.count(), in.count() == size() * n.
  [[nodiscard]] Pending reduce_scatter(ConstTensorView in, TensorView out, ReduceOp op,
                                       const CallOptions& options = {});
  /// data on every rank = data on `root`.
  [[nodiscard]] Pending broadcast(TensorView data, int root, const CallOptions& options = {});
  /// out on `root` = op over ranks of in. Elsewhere out is not used and may be empty.
  [[nodiscard]] Pending reduce(ConstTensorView in, TensorView out, ReduceOp op, int root,
                               const CallOptions& options = {});
  /// out on `root` = the concatenation over ranks of in. Elsewhere out may be empty.
  [[nodiscard]] Pending gather(ConstTensorView in, TensorView out, int root,
                               const CallOptions& options = {});
  /// out = this rank's share of in on `root`. Elsewhere in may be empty.
  [[nodiscard]] Pending scatter(ConstTensorView in, TensorView out, int root,
                                const CallOptions& options = {});
  /// Share r of out = share rank() of rank r's in; all shares have in.count() / size() elements.
  [[nodiscard]] Pending all_to_all(ConstTensorView in, TensorView out,
                                   const CallOptions& options = {});

  // Shares of unequal sizes. Counts are in elements, [size], may be 0, and lie one after the other
  // in rank order; the list must be the same on every rank, and live until the Pending is done.

  /// As all_gather: rank r contributes counts[r] elements.
  [[nodiscard]] Pending all_gather_v(ConstTensorView in, TensorView out,
                                     std::span<const std::int64_t> counts,
                                     const CallOptions& options = {});
  /// As reduce_scatter: rank r gets counts[r] elements.
  [[nodiscard]] Pending reduce_scatter_v(ConstTensorView in, TensorView out,
                                         std::span<const std::int64_t> counts, ReduceOp op,
                                         const CallOptions& options = {});
  /// As all_to_all: in_counts[r] elements go to rank r, out_counts[r] come from it. These lists are
  /// each rank's own; a pair of ranks that disagrees is a mismatch.
  [[nodiscard]] Pending all_to_all_v(ConstTensorView in, TensorView out,
                                     std::span<const std::int64_t> in_counts,
                                     std::span<const std::int64_t> out_counts,
                                     const CallOptions& options = {});

  // Between two ranks. These take part in no sequence of the group's: they are matched in order per
  // lane, sender and receiver, and only the two ranks need to call.

  /// Sends `out` to rank `to` and receives `in` from rank `from`, both at once: a ring of ranks may
  /// call this without anybody having to go first. Views may not overlap; a rank may be its own
  /// partner only as both.
  [[nodiscard]] Pending send_receive(ConstTensorView out, int to, TensorView in, int from,
                                     const CallOptions& options = {});
  /// The two halves alone. send may return before the receiver has come: back ends keep up to some
  /// hundred KiB per pair and lane meanwhile. It may also wait for the receiver, so two ranks that
  /// both send first, and receive after that, may wait for each other; send_receive never does.
  /// A receiver that wants another dtype or count throws the mismatch, and so does the sender, at
  /// once or, where it has returned already, at its next message to that rank. Messages may be
  /// empty, and are matched like others.
  [[nodiscard]] Pending send(ConstTensorView data, int to, const CallOptions& options = {});
  [[nodiscard]] Pending receive(TensorView data, int from, const CallOptions& options = {});

  /// Returns once every rank has come.
  void barrier(const CallOptions& options = {});

  /// Memory that peers on this host can reach: calls on views of it move the fewest bytes.
  /// Allocation is collective (see MemorySource). Plain memory where there is nothing to share.
  virtual MemorySource& memory() noexcept = 0;

  /// Wakes every rank of the group that waits, now or later, with peer_lost and this reason.
  /// Safe from any thread, at any time, any number of times; never blocks.
  virtual void abort(std::string_view reason) noexcept = 0;
  /// As abort(), for calls that differ: the ranks' calls on this lane end with
  /// Error(invalid_argument, text), others may go on. A back end that cannot say so aborts.
  virtual void abort_mismatch(int /*lane*/, std::string_view text) noexcept { abort(text); }

  /// A sign of life from a rank that is busy outside the group for long (reading data, writing a
  /// checkpoint): a rank that waits for it then waits on for its own timeout_s from the last sign.
  /// Safe from any thread, at any time; never blocks.
  virtual void heartbeat() noexcept = 0;

 protected:
  Communicator(std::string name, int rank, int size)
      : name_(std::move(name)), recorded_name_(name_), rank_(rank), size_(size) {}

 private:
  /// Back ends implement this. The call does not outlive it, its views live until the Pending is
  /// done. Where calls are done later, LaneWorker ends them in the record; without it they end
  /// there when somebody waits for them.
  virtual Pending do_call(const Call& call) = 0;

  Pending submit(Call& call);
  Pending perform(Call& call);

  std::string name_;
  trace::Text<3> recorded_name_;
  int rank_;
  int size_;
  std::array<std::uint64_t, kMaxLanes> sequences_{};
};

}  // namespace muster::collectives
