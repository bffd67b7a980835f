#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/mpi/mpi_session.hpp"

namespace muster::collectives::mpi {

/// A group whose other ranks are the test: what is started is done at once, except where it is held
/// up, and every rank agrees with this one. Only what is asked of MPI matters here.
class FakeGroup final : public Group {
 public:
  struct Note {
    int rank;  // to whom, or from whom
    std::vector<std::byte> bytes;
  };

  int start(int /*lane*/, const Operation& operation, Request& request) noexcept override {
    operations.push_back(operation);
    request.bits = ++requests_;
    // A rank that agrees with itself: the largest of one.
    if (operation.kind == CallKind::all_reduce && operation.dtype == Dtype::i64) {
      std::memcpy(operation.out, operation.in, sizeof(std::int64_t) * 6);
    }
    return error;
  }
  int send(int /*lane*/, const Message& message, const void* /*data*/,
           Request& request) noexcept override {
    sent.push_back(message);
    request.bits = ++requests_;
    return error;
  }
  int receive(int /*lane*/, const Message& /*message*/, void* /*data*/,
              Request& request) noexcept override {
    request.bits = ++requests_;
    return error;
  }
  int test(Request& /*request*/, bool& is_done) noexcept override {
    is_done = !is_held_up;
    return error;
  }
  int post(int to, std::span<const std::byte> note) noexcept override {
    posted.push_back({to, {note.begin(), note.end()}});
    return kSuccess;
  }
  int take_note(std::span<std::byte, kNoteBytes> note, int& from,
                std::size_t& bytes) noexcept override {
    bytes = 0;
    if (arriving.empty()) return kSuccess;
    const Note next = std::move(arriving.front());
    arriving.pop_front();
    from = next.rank;
    bytes = next.bytes.size();
    std::memcpy(note.data(), next.bytes.data(), bytes);
    return kSuccess;
  }
  void abandon(std::shared_ptr<void> memory) noexcept override {
    abandoned.push_back(std::move(memory));
  }
  void describe(int /*number*/, std::span<char> text) const noexcept override {
    constexpr std::string_view kWords = "the switch is on fire";
    std::memcpy(text.data(), kWords.data(), kWords.size());
    text[kWords.size()] = '\0';
  }

  std::vector<Operation> operations;
  std::vector<Message> sent;
  std::vector<Note> posted;
  std::deque<Note> arriving;
  std::vector<std::shared_ptr<void>> abandoned;
  bool is_held_up = false;
  int error = kSuccess;

 private:
  std::uint64_t requests_ = 0;
};

}  // namespace muster::collectives::mpi
