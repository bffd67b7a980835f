#pragma once

#include <condition_variable>
#include <mutex>

#include "collectives/bootstrap/store.hpp"
#include "collectives/bootstrap/store_table.hpp"

namespace muster::collectives {

/// A store inside one process: for a job of a single rank, and for ranks that are threads.
class MemoryStore final : public Store {
 public:
  void set(std::string_view key, std::string_view value) override;
  std::string get(std::string_view key, Deadline deadline) override;
  std::int64_t add(std::string_view key, std::int64_t delta) override;

 private:
  std::mutex mutex_;  // guards table_
  std::condition_variable changed_;
  StoreTable table_;
};

}  // namespace muster::collectives
