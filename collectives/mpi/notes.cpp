#include "collectives/mpi/notes.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::mpi {
namespace {

constexpr auto kBeatInterval = std::chrono::milliseconds(100);

// Sequences wrap, but ranks are never far apart.
bool is_after(std::uint32_t sequence, std::uint32_t other) {
  return static_cast<std::int32_t>(sequence - other) > 0;
}

}  // namespace

/// As it travels: the ranks are of one build and, like MPI's own, of one kind of processor.
struct Notes::Note {
  enum class Kind : std::uint8_t { abort, beat, call, left, refusal };

  Kind kind = Kind::beat;
  std::uint8_t lane = 0;
  std::uint16_t length = 0;  // of the text
  std::uint64_t word = 0;    // of the signature
  std::int64_t count = 0;
  Ended ended{};
  std::array<char, 464> text{};

  Note(Kind of_kind, std::string_view with_text)
      : kind(of_kind), length(static_cast<std::uint16_t>(std::min(with_text.size(), text.size()))) {
    std::copy_n(with_text.begin(), length, text.begin());
  }
  std::string_view words() const noexcept {
    return {text.data(), std::min<std::size_t>(length, text.size())};
  }
};

Notes::Notes(Group& group, int rank, int size)
    : group_(group),
      rank_(rank),
      size_(size),
      next_beat_(Deadline::after({})),
      left_(static_cast<std::size_t>(size)) {
  for (auto& calls : calls_) calls.resize(static_cast<std::size_t>(size));
}

void Notes::abort(std::string_view reason) noexcept {
  const std::scoped_lock lock(mutex_);
  if (is_aborted()) return;
  abort_text_ = fmt::format("rank {} aborted the group: {}", rank_, reason);
  post_to_all(Note(Note::Kind::abort, reason));
  is_aborted_.store(true, std::memory_order_release);
}

void Notes::beat() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!next_beat_.has_passed()) return;
  next_beat_ = Deadline::after(kBeatInterval);
  post_to_all(Note(Note::Kind::beat, {}));
}

void Notes::tell_call(int lane, const Signature& call) noexcept {
  const std::scoped_lock lock(mutex_);
  Note note(Note::Kind::call, {});
  note.lane = static_cast<std::uint8_t>(lane);
  note.word = call.word;
  note.count = call.count;
  post_to_all(note);
}

void Notes::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  Note note(Note::Kind::left, {});
  note.ended = ended_;
  post_to_all(note);
}

void Notes::refuse(int sender, std::string_view mismatch) noexcept {
  const std::scoped_lock lock(mutex_);
  post(sender, Note(Note::Kind::refusal, mismatch));
}

void Notes::read() {
  static_assert(sizeof(Note) <= kNoteBytes && std::is_trivially_copyable_v<Note>);
  const std::scoped_lock lock(mutex_);
  std::array<std::byte, kNoteBytes> bytes{};
  int from = 0;
  std::size_t length = 0;
  while (group_.take_note(bytes, from, length) == kSuccess && length == sizeof(Note)) {
    Note note(Note::Kind::beat, {});
    std::memcpy(static_cast<void*>(&note), bytes.data(), sizeof(note));
    take(from, note);
  }
  if (refusal_) throw Error(ErrorCode::invalid_argument, *refusal_);
}

std::string Notes::abort_text() const {
  const std::scoped_lock lock(mutex_);
  return abort_text_;
}

bool Notes::has_left(int rank, int lane, const Signature& awaited) const {
  const std::scoped_lock lock(mutex_);
  const auto& ended = left_[static_cast<std::size_t>(rank)];
  if (!ended) return false;
  if (awaited.kind() == CallKind::send_receive) return true;
  return is_after(awaited.sequence() + 1, (*ended)[static_cast<std::size_t>(lane)]);
}

bool Notes::is_asked(int lane) const {
  const std::scoped_lock lock(mutex_);
  const auto& calls = calls_[static_cast<std::size_t>(lane)];
  return std::any_of(calls.begin(), calls.end(), [](const auto& call) { return call.has_value(); });
}

std::vector<std::optional<Signature>> Notes::calls(int lane) const {
  const std::scoped_lock lock(mutex_);
  return calls_[static_cast<std::size_t>(lane)];
}

void Notes::end_call(int lane, const Signature& ended) {
  const std::scoped_lock lock(mutex_);
  for (auto& call : calls_[static_cast<std::size_t>(lane)]) {
    if (call && !is_after(call->sequence(), ended.sequence())) call.reset();
  }
  ended_[static_cast<std::size_t>(lane)] = ended.sequence() + 1;
}

void Notes::post(int to, const Note& note) noexcept {
  // An error of the library shows in the wait of whoever needs it; a note is worth no failure.
  static_cast<void>(group_.post(to, std::as_bytes(std::span(&note, 1))));
}

void Notes::post_to_all(const Note& note) noexcept {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) post(rank, note);
  }
}

void Notes::take(int from, const Note& note) {
  switch (note.kind) {
    case Note::Kind::abort:
      if (is_aborted()) return;
      abort_text_ = fmt::format("rank {} aborted the group: {}", from, note.words());
      is_aborted_.store(true, std::memory_order_release);
      return;
    case Note::Kind::beat: beats_.fetch_add(1, std::memory_order_relaxed); return;
    case Note::Kind::left: left_[static_cast<std::size_t>(from)] = note.ended; return;
    case Note::Kind::refusal: refusal_ = std::string(note.words()); return;
    case Note::Kind::call: {
      Signature call;
      call.word = note.word;
      call.count = note.count;
      if (note.lane >= calls_.size()) return;
      calls_[note.lane][static_cast<std::size_t>(from)] = call;
      return;
    }
  }
}

}  // namespace muster::collectives::mpi
