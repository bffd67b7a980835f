#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// A small key-value store that all ranks of a job reach: how they find each other.
///
/// Keys are short ASCII paths ("comm/data/0/address"), values any bytes up to 16 MiB. A key is set
/// once or overwritten; there is no deletion. Any thread may call. Every call that waits names in
/// its timeout error the key and for how long it waited; peer_lost means that the store is gone.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual void set(std::string_view key, std::string_view value) = 0;
  /// Waits until the key is set.
  virtual std::string get(std::string_view key, Deadline deadline) = 0;
  /// Adds to a counter (which begins at 0) and returns its new value.
  virtual std::int64_t add(std::string_view key, std::int64_t delta) = 0;

  /// Returns once `count` callers have entered the barrier of this name. A name is used once.
  /// The timeout error says how many had come.
  void barrier(std::string_view name, int count, Deadline deadline);
};

}  // namespace muster::collectives
