#pragma once

#include <vector>

#include "collectives/hierarchy/hierarchical_communicator.hpp"
#include "collectives/signature.hpp"
#include "kernels/base/memory.hpp"

namespace muster::collectives {

/// What the steps of one lane work with. One thread at a time.
class Steps {
 public:
  Steps(const HostLayout& layout, const HostGroups& groups, int rank, kernels::Device& device);

  /// Does a whole call, step by step; all of them together end at the deadline.
  void run(const Call& call, Deadline deadline);

 private:
  using Counts = std::vector<std::int64_t>;

  bool is_leader() const noexcept { return local_rank_ == 0; }
  bool has_column() const noexcept { return groups_.column != nullptr; }
  int host() const { return layout_.host_of(rank_); }

  void all_reduce(const Call& call);
  void all_reduce_small(const Call& call, ReduceOp op);
  void all_reduce_large(const Call& call, ReduceOp op);
  void broadcast(const Call& call);
  void reduce(const Call& call);
  void all_gather(const Call& call);
  void reduce_scatter(const Call& call);
  void barrier(const Call& call);
  void flat(const Call& call);

  // A step's: the call's, with the time that is left.
  CallOptions options(const Call& call) const;

  // The same on the host, where a rank alone copies.
  void local_reduce(ConstTensorView in, TensorView out, ReduceOp op, int root, const Call& call);
  void local_broadcast(TensorView data, int root, const Call& call);
  void copy(ConstTensorView from, TensorView to);
  TensorView scratch(Dtype dtype, std::int64_t count);
  /// Parts of `count` elements for every local rank: none for those outside the columns.
  const Counts& parts(std::int64_t count);

  const HostLayout& layout_;
  const HostGroups& groups_;
  int rank_;
  int local_rank_;
  kernels::Device& device_;
  Counts counts_;       // kept, so that a call allocates nothing
  Counts host_counts_;  // [hosts]
  Memory scratch_;
  Deadline deadline_ = Deadline::never();
  Signature signature_;  // of the call
};

}  // namespace muster::collectives
