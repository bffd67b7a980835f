#include "collectives/bootstrap/memory_store.hpp"

#include <chrono>

#include <fmt/format.h>

#include "collectives/bootstrap/store_protocol.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

void MemoryStore::set(std::string_view key, std::string_view value) {
  check_store_call(key, value.size());
  {
    const std::lock_guard lock(mutex_);
    table_.set(key, value);
  }
  changed_.notify_all();
}

std::string MemoryStore::get(std::string_view key, Deadline deadline) {
  check_store_call(key, 0);
  const auto start = Deadline::Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    if (const std::string* const value = table_.find(key)) return *value;
    if (deadline.has_passed()) break;
    changed_.wait_for(lock, deadline.remaining());
  }
  const std::chrono::duration<double> waited = Deadline::Clock::now() - start;
  throw Error(ErrorCode::timeout,
              fmt::format("store key \"{}\" was not set within {:.1f} s", key, waited.count()));
}

std::int64_t MemoryStore::add(std::string_view key, std::int64_t delta) {
  check_store_call(key, 0);
  std::int64_t sum = 0;
  {
    const std::lock_guard lock(mutex_);
    sum = table_.add(key, delta);
  }
  changed_.notify_all();
  return sum;
}

}  // namespace muster::collectives
