#pragma once

#include "runtime/world/world.hpp"

namespace muster {

/// The world that main() joined: this process is one of its ranks, and all run the same tests in
/// the same order.
runtime::World& test_world();

}  // namespace muster
