#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster::collectives::tcp {

/// A queue whose elements are numbered from 0 in the order of their arrival, for ever. It keeps its
/// memory, so that a queue that runs empty again and again costs no allocation.
template <typename T>
class Fifo {
 public:
  bool is_empty() const noexcept { return head_ == items_.size(); }
  /// Number of the first element, or of the next one to come.
  std::uint64_t first() const noexcept { return first_; }
  /// Number of the next element to come.
  std::uint64_t end() const noexcept { return first_ + (items_.size() - head_); }
  bool has(std::uint64_t number) const noexcept { return number >= first_ && number < end(); }

  T& at(std::uint64_t number) noexcept {
    return items_[head_ + static_cast<std::size_t>(number - first_)];
  }
  const T& at(std::uint64_t number) const noexcept {
    return items_[head_ + static_cast<std::size_t>(number - first_)];
  }

  void push(T item) {
    // Room for the longest tail and as many more: when to grow is not left to who is quicker.
    if (items_.capacity() == 0) items_.reserve(2 * kLongTail);
    items_.push_back(std::move(item));
  }
  void pop() {
    ++head_;
    ++first_;
    if (head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    } else if (head_ >= kLongTail && 2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  static constexpr std::size_t kLongTail = 64;  // elements that are gone, before memory is tidied

  std::vector<T> items_;
  std::size_t head_ = 0;     // where in items_ the first element lies
  std::uint64_t first_ = 0;  // its number
};

}  // namespace muster::collectives::tcp
