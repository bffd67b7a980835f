#include "runtime/train/straggler_line.hpp"

#include <cstddef>
#include <vector>

#include "collectives/trace/recorder.hpp"
#include "collectives/trace/stragglers.hpp"

namespace muster::runtime {
namespace {

namespace trace = collectives::trace;

/// This rank's row: seconds waited for each rank, and last the seconds in which they were counted.
std::vector<double> own_row(const World& world) {
  std::vector<double> row(static_cast<std::size_t>(world.size) + 1, 0.0);
  trace::Recorder* const recorder = trace::Recorder::current();
  if (recorder == nullptr) return row;
  for (const Member& member : world.members) {
    const auto* const waited =
        recorder->waited_for({.rank = member.rank, .pid = member.pid, .host_id = member.host_id});
    if (waited == nullptr) continue;
    row[static_cast<std::size_t>(member.rank)] = static_cast<double>(waited->load()) / 1e9;
  }
  row.back() = recorder->seconds_of_waits();
  return row;
}

}  // namespace

std::optional<std::string> straggler_line(const World& world, collectives::Communicator& group,
                                          double timeout_s) {
  std::vector<double> row = own_row(world);
  const std::size_t columns = row.size();
  std::vector<double> rows(columns * static_cast<std::size_t>(world.size));
  group
      .all_gather(vector_view(row.data(), std::ssize(row)),
                  vector_view(rows.data(), std::ssize(rows)),
                  {.label = "waits", .timeout_s = timeout_s})
      .wait();
  std::vector<double> waited;
  double within_s = 0.0;
  for (std::size_t at = 0; at < rows.size(); at += columns) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at);
    waited.insert(waited.end(), begin, begin + world.size);
    within_s = rows[at + columns - 1];
  }
  const auto straggler = trace::find_straggler(waited, world.size, within_s);
  if (!straggler) return std::nullopt;
  const Member& member = world.members[static_cast<std::size_t>(straggler->rank)];
  return "straggler: " + trace::describe(*straggler, member.host);
}

}  // namespace muster::runtime
