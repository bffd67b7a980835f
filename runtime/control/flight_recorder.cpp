#include "runtime/control/flight_recorder.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "collectives/trace/recorder.hpp"
#include "collectives/trace/stack_signal.hpp"
#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

namespace trace = collectives::trace;

constexpr const char* kTraceVariable = "MUSTER_TRACE_FD";

collectives::Fd take_record_memory() {
  const char* const value = std::getenv(kTraceVariable);
  if (value == nullptr) return trace::create_record_memory();
  const std::string_view text = value;
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
    throw Error(ErrorCode::config, fmt::format("{}=\"{}\" is not the number of a memory file; only "
                                               "the launcher sets it, unset it",
                                               kTraceVariable, text));
  }
  ::unsetenv(kTraceVariable);
  return collectives::Fd(number);
}

}  // namespace

void open_flight_recorder() {
  const collectives::Fd memory = take_record_memory();
  try {
    trace::Recorder::open(memory);
  } catch (const Error& error) {
    throw Error(ErrorCode::config, fmt::format("{}: {}", kTraceVariable, error.what()));
  }
  trace::keep_stacks_on_signal();
}

}  // namespace muster::runtime
