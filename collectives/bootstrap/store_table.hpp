#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace muster::collectives {

/// The keys of a store, its counters, and who waits for what. Not thread-safe: the server's one
/// thread, or the holder of a lock, uses it.
class StoreTable {
 public:
  using Wake = std::function<void()>;
  using Waiting = std::multimap<std::string, Wake>::iterator;

  /// Wakes everyone who waits for the key.
  void set(std::string_view key, std::string_view value);
  const std::string* find(std::string_view key) const;
  /// A counter is kept as decimal text and can be read with find(). Error(invalid_argument) when
  /// the key holds something else or the sum does not fit.
  std::int64_t add(std::string_view key, std::int64_t delta);

  /// `wake` is called once, by the set() or add() that makes the key, unless unwait() came first.
  /// The call must not use the table.
  Waiting wait(std::string_view key, Wake wake);
  /// Only before the wake call.
  void unwait(Waiting waiting) { waiting_.erase(waiting); }

 private:
  std::unordered_map<std::string, std::string> values_;
  std::multimap<std::string, Wake> waiting_;
};

}  // namespace muster::collectives
