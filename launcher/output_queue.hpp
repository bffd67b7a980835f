#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "collectives/net/fd.hpp"

namespace muster::launcher {

/// Writes text to descriptors in order, from a thread of its own: whoever watches ranks must not
/// wait for a reader that has stopped reading. One thread puts.
class OutputQueue {
 public:
  OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;
  /// Waits, without a limit, until everything is written, or cannot be because nobody reads any
  /// more.
  ~OutputQueue();

  /// Never waits. Text for a descriptor that refused some is dropped.
  void put(int descriptor, std::string text);

  /// Whether so much waits that the caller should stop putting (it may still put).
  bool is_full() const;
  /// Becomes readable once it is no longer full; clear_room_signal() makes it unreadable.
  int room_signal() const noexcept { return room_.number(); }
  void clear_room_signal() noexcept;

 private:
  void write_all();

  mutable std::mutex mutex_;  // guards the next three
  std::condition_variable_any is_there_;
  std::deque<std::pair<int, std::string>> waiting_;
  std::size_t waiting_bytes_ = 0;
  collectives::Fd room_;
  std::jthread writer_;
};

}  // namespace muster::launcher
