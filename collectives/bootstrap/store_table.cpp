#include "collectives/bootstrap/store_table.hpp"

#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

std::int64_t counter_value(std::string_view key, const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("store key \"{}\" is no counter: it holds {} bytes of something else",
                            key, text.size()));
  }
  return value;
}

}  // namespace

void StoreTable::set(std::string_view key, std::string_view value) {
  values_.insert_or_assign(std::string(key), std::string(value));
  const auto [first, last] = waiting_.equal_range(std::string(key));
  std::vector<Wake> woken;
  for (auto it = first; it != last; ++it) woken.push_back(std::move(it->second));
  waiting_.erase(first, last);
  for (const Wake& wake : woken) wake();
}

const std::string* StoreTable::find(std::string_view key) const {
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t StoreTable::add(std::string_view key, std::int64_t delta) {
  const std::string* const old = find(key);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(old == nullptr ? 0 : counter_value(key, *old), delta, &sum)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("store counter \"{}\" plus {} does not fit 64 bits", key, delta));
  }
  set(key, std::to_string(sum));
  return sum;
}

StoreTable::Waiting StoreTable::wait(std::string_view key, Wake wake) {
  return waiting_.emplace(std::string(key), std::move(wake));
}

}  // namespace muster::collectives
