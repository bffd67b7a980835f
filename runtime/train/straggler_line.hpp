#pragma once

#include <optional>
#include <string>

#include "collectives/communicator.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// "straggler: rank 1 (host a) cost the others …", from the waits that the flight recorders of all
/// ranks have counted; nothing when there is none worth a word. Collective over `group`, which is
/// the whole world; the same on every rank.
std::optional<std::string> straggler_line(const World& world, collectives::Communicator& group,
                                          double timeout_s);

}  // namespace muster::runtime
