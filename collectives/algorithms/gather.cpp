#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/tree.hpp"

/// gather and its mirror image scatter.
namespace muster::collectives::algorithms {
namespace {

// Blocks of one size per place of the tree, in scratch memory. They begin with this rank's own.
class Branch {
 public:
  Branch(Lane& lane, const TreePlace& tree, std::size_t block_bytes)
      : place_(tree.place()),
        block_bytes_(block_bytes),
        memory_(lane.scratch.reserve(index(tree.end() - tree.place()) * block_bytes)) {}

  std::span<std::byte> blocks(int begin, int end) const {
    return memory_.subspan(index(begin - place_) * block_bytes_, index(end - begin) * block_bytes_);
  }
  std::span<std::byte> own() const { return blocks(place_, place_ + 1); }

 private:
  int place_;
  std::size_t block_bytes_;
  std::span<std::byte> memory_;
};

void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

void gather_direct(Lane& lane, const Call& call) {
  if (lane.rank() != call.root) {
    lane.transport.receive(call.root, {});
    lane.transport.send(call.root, bytes_of(call.in));
    return lane.transport.wait_all();
  }
  const Shares shares = even_shares(lane, call.out.count());
  copy(lane.device, view_of(call.out, shares[index(lane.rank())]), call.in);
  for (int k = 1; k < lane.size(); ++k) {
    const int from = lane.rank_at(k);
    lane.transport.send(from, {});
    lane.transport.receive(from, bytes_of(view_of(call.out, shares[index(from)])));
  }
  lane.transport.wait_all();
}

void scatter_direct(Lane& lane, const Call& call) {
  if (lane.rank() != call.root) {
    lane.transport.send(call.root, {});
    lane.transport.receive(call.root, bytes_of(call.out));
    return lane.transport.wait_all();
  }
  const Shares shares = even_shares(lane, call.in.count());
  copy(lane.device, call.out, view_of(call.in, shares[index(lane.rank())]));
  for (int k = 1; k < lane.size(); ++k) {
    const int to = lane.rank_at(k);
    lane.transport.receive(to, {});
    lane.transport.send(to, bytes_of(view_of(call.in, shares[index(to)])));
  }
  lane.transport.wait_all();
}

void gather_binomial(Lane& lane, const Call& call) {
  const TreePlace tree(lane, call.root);
  const Branch branch(lane, tree, call.in.bytes());
  tree.signal_down(lane);
  copy_bytes(branch.own(), bytes_of(call.in));
  tree.for_each_child([&](int child, int place, int extent) {
    lane.transport.receive(child, branch.blocks(place, tree.end_of(place, extent)));
  });
  lane.transport.wait_all();
  if (!tree.is_root()) {
    lane.transport.send(tree.parent(), branch.blocks(tree.place(), tree.end()));
    return lane.transport.wait_all();
  }
  for (int place = 0; place < lane.size(); ++place) {
    const std::size_t begin = index(tree.rank_of(place)) * call.in.bytes();
    copy_bytes(bytes_of(call.out).subspan(begin), branch.blocks(place, place + 1));
  }
}

void scatter_binomial(Lane& lane, const Call& call) {
  const TreePlace tree(lane, call.root);
  const Branch branch(lane, tree, call.out.bytes());
  tree.signal_up(lane);
  if (tree.is_root()) {
    for (int place = 0; place < lane.size(); ++place) {
      const std::size_t begin = index(tree.rank_of(place)) * call.out.bytes();
      copy_bytes(branch.blocks(place, place + 1),
                 bytes_of(call.in).subspan(begin, call.out.bytes()));
    }
  } else {
    lane.transport.wait(
        lane.transport.receive(tree.parent(), branch.blocks(tree.place(), tree.end())));
  }
  tree.for_each_child([&](int child, int place, int extent) {
    lane.transport.send(child, branch.blocks(place, tree.end_of(place, extent)));
  });
  copy_bytes(bytes_of(call.out), branch.own());
  lane.transport.wait_all();
}

}  // namespace muster::collectives::algorithms
