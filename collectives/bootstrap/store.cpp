#include "collectives/bootstrap/store.hpp"

#include <chrono>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {

void Store::barrier(std::string_view name, int count, Deadline deadline) {
  const auto start = Deadline::Clock::now();
  const std::string arrived_key = fmt::format("barrier/{}/arrived", name);
  const std::string open_key = fmt::format("barrier/{}/open", name);
  const std::int64_t arrived = add(arrived_key, 1);
  if (arrived > count) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("barrier \"{}\" of {} was entered {} times; a name is used once", name,
                            count, arrived));
  }
  if (arrived == count) {
    set(open_key, "");
    return;
  }
  try {
    get(open_key, deadline);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    const std::chrono::duration<double> waited = Deadline::Clock::now() - start;
    throw Error(ErrorCode::timeout, fmt::format("barrier \"{}\": {} of {} had come after {:.1f} s",
                                                name, add(arrived_key, 0), count, waited.count()));
  }
}

}  // namespace muster::collectives
