#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/signature.hpp"

namespace muster::collectives::shm {
namespace {

// What travels with a message: its dtype, its count, and its number between the two ranks.
Signature signature_of(ConstTensorView data, std::uint64_t number) {
  return Signature(
      Call{.kind = CallKind::send_receive, .in = data, .count = data.count(), .sequence = number});
}

Signature signature_from(std::uint64_t word, std::int64_t count) {
  Signature signature;
  signature.word = word;
  signature.count = count;
  return signature;
}

// The place of a message that travels through the ring.
constexpr std::uint64_t kInPieces = ~std::uint64_t{0};

// Bytes of a piece of a message. A message that fits the ring has no more pieces than that has
// slots, and more than one if it is long enough for one rank to copy in while the other copies out.
std::size_t piece_length(std::size_t bytes) noexcept {
  constexpr std::size_t kShortest = 64 * kKiB;
  constexpr std::size_t kPage = 4 * kKiB;
  const std::size_t even = (bytes + kRingSlots - 1) / kRingSlots;
  return std::clamp((even + kPage - 1) / kPage * kPage, kShortest, kRingSlot);
}

/// One message of this rank's on its way to another.
class Outgoing {
 public:
  Outgoing(Lane& lane, int to, ConstTensorView data)
      : lane_(lane),
        to_(to),
        data_(data),
        progress_(lane.progress(to)),
        control_(lane.group().pair(lane.rank(), lane.number(), to)),
        receipt_(lane.group().pair(to, lane.number(), lane.rank()).receipt),
        signature_(signature_of(data, progress_.messages_sent++)) {
    const std::uint64_t place = place_of(lane.group(), data);
    // In private memory only the receiver could copy: two ranks in turns, by way of the ring, are
    // quicker than the kernel alone.
    if (data.bytes() > kRing && !Places::is_private(place)) place_ = place;
  }

  bool is_done() const noexcept {
    if (!is_sent_) return false;
    return !is_read_in_place() || has_taken(progress_.pieces_sent);
  }

  /// Sends a piece if there is room for one.
  bool step() {
    throw_if_refused();
    const std::uint64_t number = progress_.pieces_sent;
    if (is_sent_ || !has_taken(needed())) return false;
    const std::size_t bytes = std::min(data_.bytes() - position_, piece_length(data_.bytes()));
    PieceLine& line = control_.pieces[number % kRingSlots];
    line.signature = signature_.word;
    line.count = signature_.count;
    if (data_.bytes() <= kInlineBytes) {
      if (bytes > 0) std::memcpy(line.payload.data(), data_.data, bytes);
    } else {
      std::memcpy(line.payload.data(), &place_, sizeof(place_));
      if (!is_read_in_place()) copy(lane_, slot(number), data_.data + position_, bytes, false);
    }
    position_ += bytes;
    is_sent_ = position_ == data_.bytes() || is_read_in_place();
    progress_.pieces_sent = number + 1;
    line.number.store(number + 1, std::memory_order_release);
    return true;
  }

  /// After step() had nothing to do. Once all is sent it is still of interest that it was refused.
  WaitGoal goal() const noexcept {
    if (is_done()) return {receipt_.taken, ReceiptLine::kRefused, to_, {}, false};
    return {receipt_.taken, is_sent_ ? progress_.pieces_sent : needed(), to_, "to receive"};
  }

  void throw_if_refused() const {
    if (receipt_.taken.load(std::memory_order_acquire) != ReceiptLine::kRefused) return;
    throw signature_mismatch(
        lane_.group().name, lane_.number(),
        {lane_.rank(), signature_from(receipt_.sent_signature, receipt_.sent_count)},
        {to_, signature_from(receipt_.wanted_signature, receipt_.wanted_count)});
  }

 private:
  bool is_read_in_place() const noexcept { return place_ != kInPieces; }
  // Pieces that must have been taken before the next one finds a free slot.
  std::uint64_t needed() const noexcept {
    return std::max<std::uint64_t>(progress_.pieces_sent + 1, kRingSlots) - kRingSlots;
  }
  bool has_taken(std::uint64_t pieces) const noexcept {
    return receipt_.taken.load(std::memory_order_acquire) >= pieces;
  }
  std::byte* slot(std::uint64_t number) const noexcept {
    return lane_.group().ring(lane_.rank(), lane_.number(), to_) + number % kRingSlots * kRingSlot;
  }

  Lane& lane_;
  int to_;
  ConstTensorView data_;
  PairProgress& progress_;
  PairControl& control_;
  const ReceiptLine& receipt_;
  Signature signature_;
  std::uint64_t place_ = kInPieces;  // else where the receiver reads all of it
  std::size_t position_ = 0;         // bytes sent
  bool is_sent_ = false;
};

/// One message of another rank's on its way to this one.
class Incoming {
 public:
  Incoming(Lane& lane, int from, TensorView data)
      : lane_(lane),
        from_(from),
        data_(data),
        progress_(lane.progress(from)),
        control_(lane.group().pair(from, lane.number(), lane.rank())),
        receipt_(lane.group().pair(lane.rank(), lane.number(), from).receipt),
        signature_(signature_of(data, progress_.messages_taken++)) {}

  bool is_done() const noexcept { return is_done_; }

  /// Takes a piece if there is one.
  bool step() {
    if (is_done_ || !goal().is_reached()) return false;
    const std::uint64_t number = progress_.pieces_taken;
    const PieceLine& line = control_.pieces[number % kRingSlots];
    if (position_ == 0) compare(line);
    const std::size_t bytes = std::min(data_.bytes() - position_, piece_length(data_.bytes()));
    const bool is_kept = take(line, bytes);
    position_ += bytes;
    is_done_ = position_ == data_.bytes();
    if (is_kept && !is_done_) return true;
    progress_.pieces_taken = number + 1;
    receipt_.taken.store(number + 1, std::memory_order_release);
    return true;
  }

  WaitGoal goal() const noexcept {
    const std::uint64_t number = progress_.pieces_taken;
    return {control_.pieces[number % kRingSlots].number, number + 1, from_, "to send"};
  }

 private:
  void compare(const PieceLine& line) {
    if (line.signature == signature_.word && line.count == signature_.count) return;
    receipt_.sent_signature = line.signature;
    receipt_.sent_count = line.count;
    receipt_.wanted_signature = signature_.word;
    receipt_.wanted_count = signature_.count;
    receipt_.taken.store(ReceiptLine::kRefused, std::memory_order_release);
    throw signature_mismatch(lane_.group().name, lane_.number(),
                             {from_, signature_from(line.signature, line.count)},
                             {lane_.rank(), signature_});
  }

  // Copies the next bytes; true when the line stands for more than these.
  bool take(const PieceLine& line, std::size_t bytes) {
    if (bytes == 0) return false;
    std::byte* const to = data_.data + position_;
    if (data_.bytes() <= kInlineBytes) {
      std::memcpy(to, line.payload.data(), bytes);
      return false;
    }
    std::uint64_t place = 0;
    std::memcpy(&place, line.payload.data(), sizeof(place));
    const bool is_streaming = exceeds_caches(data_.bytes());
    if (place != kInPieces) {
      read_place(lane_, from_, place, {position_, bytes}, to, is_streaming);
      return true;
    }
    const std::byte* const ring = lane_.group().ring(from_, lane_.number(), lane_.rank());
    copy(lane_, to, ring + progress_.pieces_taken % kRingSlots * kRingSlot, bytes, is_streaming);
    return false;
  }

  Lane& lane_;
  int from_;
  TensorView data_;
  PairProgress& progress_;
  const PairControl& control_;
  ReceiptLine& receipt_;
  Signature signature_;
  std::size_t position_ = 0;  // bytes received
  bool is_done_ = false;
};

void wait_for_either(Lane& lane, const std::optional<Outgoing>& out,
                     const std::optional<Incoming>& in) {
  if (out && in && !in->is_done()) {
    const std::array goals = {out->goal(), in->goal()};
    return lane.wait_any(goals);
  }
  const WaitGoal goal = out && !out->is_done() ? out->goal() : in->goal();
  lane.wait_any({&goal, 1});
}

}  // namespace

void send_receive(Lane& lane, const Call& call) {
  if (call.to == lane.rank()) {
    copy(lane, call.out.data, call.in.data, call.in.bytes(), exceeds_caches(call.in.bytes()));
    return;
  }
  std::optional<Outgoing> out;
  std::optional<Incoming> in;
  if (call.to != Call::kNobody) out.emplace(lane, call.to, call.in);
  if (call.from != Call::kNobody) in.emplace(lane, call.from, call.out);
  for (;;) {
    const bool has_sent = out && out->step();
    const bool has_taken = in && in->step();
    if ((!out || out->is_done()) && (!in || in->is_done())) break;
    if (!has_sent && !has_taken) wait_for_either(lane, out, in);
  }
  if (out) out->throw_if_refused();
}

}  // namespace muster::collectives::shm
