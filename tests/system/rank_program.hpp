#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "collectives/backends.hpp"
#include "collectives/bootstrap/build_id.hpp"
#include "launcher/rank_session.hpp"
#include "runtime/world/group.hpp"
#include "runtime/world/join.hpp"

namespace muster::test {

/// An environment variable that tells a rank of a test what to do.
inline std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// The group of all ranks of the job, over the back end that a variable names.
inline std::unique_ptr<collectives::Communicator> open_group(runtime::World& world,
                                                             const std::string& name,
                                                             const char* variable,
                                                             kernels::Device& device) {
  return collectives::create_communicator(setting(variable, "auto"),
                                          runtime::world_group(world, name, 0), *world.store,
                                          device, Deadline::after_seconds(30.0));
}

/// The main() of a rank of a test: joins the job that its environment names, does `body`, and if
/// that returned 0 leaves in good order. Returns the exit code.
inline int run_rank(const std::function<int(runtime::World&)>& body) {
  launcher::RankSession session;
  return session.run([&] {
    const runtime::Identity& identity = session.identify(LogLevel::warning);
    runtime::World world =
        runtime::join_world(identity, {.build_id = collectives::build_id(), .timeout_s = 30.0});
    const int code = body(world);
    if (code == 0) runtime::leave_world(world, 10.0);
    return code;
  });
}

}  // namespace muster::test
