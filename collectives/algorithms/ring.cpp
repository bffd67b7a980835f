#include "collectives/algorithms/ring.hpp"

#include <algorithm>
#include <array>

#include "collectives/algorithms/partial.hpp"

namespace muster::collectives::algorithms {
namespace {

constexpr std::int64_t kColumns = 2;
constexpr std::size_t kBuffers = 3;  // of a column: sent, received, and what this rank adds

class Run {
 public:
  Run(Lane& lane, const Ring& ring)
      : lane_(lane),
        ring_(ring),
        partial_(ring.reduces ? partial_dtype(ring.in.dtype, ring.op) : ring.out.dtype),
        phase_(lane.size() - 1) {
    std::int64_t longest = 0;
    for (const Share& share : ring.shares) longest = std::max(longest, share.count);
    const auto most = static_cast<std::int64_t>(lane.piece_bytes / size_of(partial_));
    length_ = std::max<std::int64_t>(1, std::min(most, longest));
    columns_ = (longest + length_ - 1) / length_;
    buffer_bytes_ = aligned(index(length_) * size_of(partial_));
    if (ring.reduces) memory_ = lane.scratch.reserve(index(kColumns) * kBuffers * buffer_bytes_);
  }

  // A column that is done makes room for the next. All ranks take the same turns, so they post in
  // the same order.
  void run() {
    const int steps = phase_ * ((ring_.reduces ? 1 : 0) + (ring_.gathers ? 1 : 0));
    for (std::int64_t column = 0; column < std::min(columns_, kColumns); ++column) post(column, 0);
    for (std::int64_t first = 0; first < columns_; first += kColumns) {
      for (int step = 0; step < steps; ++step) {
        for (std::int64_t column = first; column < std::min(columns_, first + kColumns); ++column) {
          take(column, step);
          if (step + 1 < steps) {
            post(column, step + 1);
          } else if (column + kColumns < columns_) {
            post(column + kColumns, 0);
          }
        }
      }
    }
  }

 private:
  struct Column {
    Transport::Ticket sent = 0;
    Transport::Ticket received = 0;
  };

  bool is_reducing(int step) const { return ring_.reduces && step < phase_; }
  int step_in_phase(int step) const { return step % phase_; }

  // The piece of the rank `distance` further round.
  Share piece(int distance, std::int64_t column) const {
    const int owner = (lane_.rank() + distance % lane_.size() + lane_.size()) % lane_.size();
    return piece_of(ring_.shares[index(owner)], length_, column);
  }
  TensorView buffer(std::int64_t column, std::size_t number, std::int64_t count) const {
    const std::size_t at = index(column % kColumns) * kBuffers + number % kBuffers;
    return {memory_.data() + at * buffer_bytes_, partial_, 1, count};
  }
  TensorView out(Share share) const { return view_of(ring_.out, share, ring_.out_begin); }
  // Sent and received change places from step to step.
  TensorView sent_partial(std::int64_t column, int step, std::int64_t count) const {
    return buffer(column, index(step % 2), count);
  }
  TensorView received_partial(std::int64_t column, int step, std::int64_t count) const {
    return buffer(column, index((step + 1) % 2), count);
  }

  void post(std::int64_t column, int step) {
    Column& state = state_[index(column % kColumns)];
    const int next = lane_.rank_at(1);
    const int before = lane_.rank_at(-1);
    const int s = step_in_phase(step);
    if (!is_reducing(step)) {
      state.received = lane_.transport.receive(before, bytes_of(out(piece(-s - 1, column))));
      state.sent = lane_.transport.send(next, bytes_of(ConstTensorView(out(piece(-s, column)))));
      return;
    }
    const Share coming = piece(-s - 2, column);
    const Share going = piece(-s - 1, column);
    const TensorView sent = sent_partial(column, s, going.count);
    if (s == 0) begin_partial(lane_.device, sent, view_of(ring_.in, going));
    state.received =
        lane_.transport.receive(before, bytes_of(received_partial(column, s, coming.count)));
    state.sent = lane_.transport.send(next, bytes_of(ConstTensorView(sent)));
  }

  void take(std::int64_t column, int step) {
    const Column& state = state_[index(column % kColumns)];
    lane_.transport.wait(state.received);
    lane_.transport.wait(state.sent);
    if (!is_reducing(step)) return;
    const int s = step_in_phase(step);
    const Share share = piece(-s - 2, column);
    const TensorView sum = received_partial(column, s, share.count);
    add_own(column, sum, view_of(ring_.in, share));
    if (s + 1 == phase_) {
      finish(lane_.device,
             {.out = out(share), .partial = sum, .op = ring_.op, .ranks = lane_.size()});
    }
  }

  void add_own(std::int64_t column, TensorView sum, ConstTensorView own) {
    ConstTensorView addend = own;
    if (own.dtype != partial_) {
      const TensorView wide = buffer(column, kBuffers - 1, own.count());
      begin_partial(lane_.device, wide, own);
      addend = wide;
    }
    combine(lane_.device,
            {.mine = sum, .theirs = addend, .order = Order::mine_first, .op = ring_.op});
  }

  Lane& lane_;
  const Ring& ring_;
  Dtype partial_;
  int phase_;  // steps of one phase
  std::int64_t length_ = 1;
  std::int64_t columns_ = 0;
  std::size_t buffer_bytes_ = 0;
  std::span<std::byte> memory_;  // [kColumns][kBuffers]
  std::array<Column, kColumns> state_;
};

}  // namespace

void run(Lane& lane, const Ring& ring) {
  Run(lane, ring).run();
}

}  // namespace muster::collectives::algorithms
