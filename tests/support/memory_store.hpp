#pragma once

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <pthread.h>
#include <sys/mman.h>

#include "collectives/bootstrap/store.hpp"
#include "kernels/base/error.hpp"

namespace muster {

/// A Store for ranks that are threads of one process or children forked from it: a table in memory
/// that forks share. Up to 512 keys of 120 bytes with values of up to 1 KiB.
class MemoryStore final : public collectives::Store {
 public:
  MemoryStore() {
    void* const at =
        ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    table_ = static_cast<Table*>(at);
    pthread_mutexattr_t shared;
    ::pthread_mutexattr_init(&shared);
    ::pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_mutex_init(&table_->mutex, &shared);
    ::pthread_mutexattr_destroy(&shared);
  }
  ~MemoryStore() override { ::munmap(table_, sizeof(Table)); }

  void set(std::string_view key, std::string_view value) override {
    const Guard guard(table_->mutex);
    Entry& entry = entry_of(key);
    if (value.size() > entry.value.size()) std::abort();
    std::memcpy(entry.value.data(), value.data(), value.size());
    entry.length = value.size();
    entry.is_set = true;
  }

  std::string get(std::string_view key, Deadline deadline) override {
    for (;;) {
      if (const auto value = find(key)) return *value;
      if (deadline.has_passed()) {
        throw Error(ErrorCode::timeout, "nobody has set " + std::string(key));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  std::int64_t add(std::string_view key, std::int64_t delta) override {
    const Guard guard(table_->mutex);
    return entry_of(key).counter += delta;
  }

 private:
  struct Entry {
    std::array<char, 120> key;
    std::array<char, 1024> value;
    std::size_t length;
    std::int64_t counter;
    bool is_set;
  };
  struct Table {
    pthread_mutex_t mutex;
    std::size_t entries;
    std::array<Entry, 512> entry;
  };
  class Guard {
   public:
    explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { ::pthread_mutex_unlock(&mutex_); }

   private:
    pthread_mutex_t& mutex_;
  };

  // The entry of a key, new if there was none. The mutex is held.
  Entry& entry_of(std::string_view key) {
    for (std::size_t i = 0; i < table_->entries; ++i) {
      if (key == table_->entry[i].key.data()) return table_->entry[i];
    }
    if (table_->entries == table_->entry.size()) std::abort();
    Entry& entry = table_->entry[table_->entries++];
    if (key.size() >= entry.key.size()) std::abort();
    std::memcpy(entry.key.data(), key.data(), key.size());
    return entry;
  }

  std::optional<std::string> find(std::string_view key) {
    const Guard guard(table_->mutex);
    const Entry& entry = entry_of(key);
    if (!entry.is_set) return std::nullopt;
    return std::string(entry.value.data(), entry.length);
  }

  Table* table_ = nullptr;
};

}  // namespace muster
