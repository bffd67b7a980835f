#include "launcher/output_queue.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::launcher {
namespace {

constexpr std::size_t kFullBytes = 1 << 20;

/// False when the descriptor takes no more.
bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // somebody made it non-blocking
      pollfd room = {descriptor, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

OutputQueue::OutputQueue() : room_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!room_.is_open()) {
    throw Error(ErrorCode::io,
                fmt::format("no event descriptor: {}", collectives::errno_text(errno)));
  }
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads that expect them
  writer_ = std::jthread([this] { write_all(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

OutputQueue::~OutputQueue() {
  put(-1, {});  // the end
}

void OutputQueue::put(int descriptor, std::string text) {
  {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += text.size();
    waiting_.emplace_back(descriptor, std::move(text));
  }
  is_there_.notify_one();
}

bool OutputQueue::is_full() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ >= kFullBytes;
}

void OutputQueue::clear_room_signal() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = ::read(room_.number(), &count, sizeof count);
}

void OutputQueue::write_all() {
  std::set<int> refusing;
  while (true) {
    std::unique_lock lock(mutex_);
    is_there_.wait(lock, [this] { return !waiting_.empty(); });
    const auto [descriptor, text] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (descriptor < 0) return;
    if (!refusing.contains(descriptor) && !write_whole(descriptor, text)) {
      refusing.insert(descriptor);
    }
    lock.lock();
    const bool was_full = waiting_bytes_ >= kFullBytes;
    waiting_bytes_ -= text.size();
    if (was_full && waiting_bytes_ < kFullBytes) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t ignored = ::write(room_.number(), &one, sizeof one);
    }
  }
}

}  // namespace muster::launcher
