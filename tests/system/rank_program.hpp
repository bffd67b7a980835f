#pragma once

#include <cstdlib>
#include <functional>
#include <string>

#include "collectives/bootstrap/build_id.hpp"
#include "launcher/rank_session.hpp"
#include "runtime/world/join.hpp"

namespace muster::test {

/// An environment variable that tells a rank of a test what to do.
inline std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
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
