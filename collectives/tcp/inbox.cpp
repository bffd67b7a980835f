#include "collectives/tcp/inbox.hpp"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace muster::collectives::tcp {

Inbox::Inbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.is_open()) {
    throw Error(ErrorCode::io, fmt::format("eventfd: {}", errno_text(errno)));
  }
}

void Inbox::put(Arrival arrival) {
  {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back(std::move(arrival));
    has_news_.store(true, std::memory_order_release);
  }
  wake();
}

void Inbox::fail(LaneFailure failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_.emplace(std::move(failure));
    has_news_.store(true, std::memory_order_release);
  }
  wake();
}

void Inbox::wake() noexcept {
  const std::uint64_t one = 1;
  // It can only fail by being awake already.
  [[maybe_unused]] const ssize_t written = ::write(event_.number(), &one, sizeof(one));
}

std::vector<Arrival> Inbox::take_arrivals() {
  const std::lock_guard lock(mutex_);
  has_news_.store(failure_.has_value(), std::memory_order_release);
  return std::exchange(arrivals_, {});
}

std::optional<LaneFailure> Inbox::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Inbox::drain() noexcept {
  std::uint64_t wakes = 0;
  // Nothing to read is as good as one wake less.
  [[maybe_unused]] const ssize_t read = ::read(event_.number(), &wakes, sizeof(wakes));
}

}  // namespace muster::collectives::tcp
