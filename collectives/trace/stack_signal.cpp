#include "collectives/trace/stack_signal.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <execinfo.h>

#include "collectives/trace/recorder.hpp"

namespace muster::collectives::trace {
namespace {

constexpr std::size_t kOwnFrames = 2;  // the handler, and the return from it

extern "C" void keep_stack(int /*signal*/) {
  const int error = errno;
  std::array<void*, kMostFrames + kOwnFrames> frames;
  const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  Recorder* const recorder = Recorder::current();
  if (recorder != nullptr && depth > static_cast<int>(kOwnFrames)) {
    recorder->keep_stack(
        {frames.data() + kOwnFrames, static_cast<std::size_t>(depth) - kOwnFrames});
  }
  errno = error;
}

}  // namespace

void keep_stacks_on_signal() {
  std::array<void*, 1> frames;
  ::backtrace(frames.data(), 1);  // loads the unwinder
  struct sigaction action = {};
  action.sa_handler = keep_stack;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(kStackSignal, &action, nullptr);
}

}  // namespace muster::collectives::trace
