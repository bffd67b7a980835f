#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/world/world.hpp"

namespace muster::runtime {

/// What rank 0 decides, on every rank: it alone calls `decide`, and publishes the answer under
/// `key` (once in a job) of the store, or the error, which every rank then throws. Collective;
/// the others wait for up to `timeout_s`.
std::string agree(World& world, std::string_view key, double timeout_s,
                  const std::function<std::string()>& decide);

}  // namespace muster::runtime
