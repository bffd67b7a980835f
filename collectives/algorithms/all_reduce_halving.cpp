#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/core.hpp"
#include "collectives/algorithms/partial.hpp"

namespace muster::collectives::algorithms {
namespace {

struct Halves {
  Share kept;
  Share given;
};

// What a member keeps of `share` in the step of `bit`, and what the member across gets: the lower
// half goes to the one whose bit is 0.
Halves halve(Share share, bool is_lower) {
  const std::int64_t half = share.count / 2;
  const Share lower{share.begin, half};
  const Share upper{share.begin + half, share.count - half};
  return is_lower ? Halves{lower, upper} : Halves{upper, lower};
}

class Halving {
 public:
  Halving(Lane& lane, const Core& core, const Call& call, const Partials& partials)
      : lane_(lane), core_(core), call_(call), partials_(partials) {}

  // The way down reduces, the way back gathers what the same steps gave away.
  void run(int bit, Share share) {
    if (bit == core_.size()) return finish_share(share);
    const bool is_lower = (core_.number() & bit) == 0;
    const int other = core_.rank_of(core_.number() ^ bit);
    const auto [kept, given] = halve(share, is_lower);
    const TensorView received = view_of(partials_.received, {0, kept.count});
    const TensorView sum = view_of(partials_.sum, kept);
    lane_.transport.receive(other, bytes_of(received));
    lane_.transport.send(other, bytes_of(ConstTensorView(view_of(partials_.sum, given))));
    lane_.transport.wait_all();
    combine(lane_.device, {.mine = sum,
                           .theirs = received,
                           .order = is_lower ? Order::mine_first : Order::theirs_first,
                           .op = call_.op});

    run(bit * 2, kept);

    lane_.transport.receive(other, bytes_of(view_of(call_.out, given)));
    lane_.transport.send(other, bytes_of(ConstTensorView(view_of(call_.out, kept))));
    lane_.transport.wait_all();
  }

 private:
  void finish_share(Share share) {
    finish(lane_.device, {.out = view_of(call_.out, share),
                          .partial = view_of(partials_.sum, share),
                          .op = call_.op,
                          .ranks = lane_.size()});
  }

  Lane& lane_;
  const Core& core_;
  const Call& call_;
  const Partials& partials_;
};

}  // namespace

void all_reduce_halving(Lane& lane, const Call& call) {
  const Core core(lane);
  in_segments(lane, call, [&](const Call& part) {
    const Partials partials = make_partials(lane, part);
    if (begin_in_core(lane, core, part, partials)) {
      Halving(lane, core, part, partials).run(1, {0, part.count});
    }
    share_result(lane, core, part);
  });
}

}  // namespace muster::collectives::algorithms
