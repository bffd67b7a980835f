// A rank that joins its world as its environment says, prints who it is, and ends as told.
//
//   joining_rank               meets the others at a barrier and leaves
//   joining_rank exit CODE     rank 1 returns CODE while the others wait
//   joining_rank kill          rank 1 kills itself while the others wait
//   joining_rank keep …        the same with MPI kept open

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "collectives/bootstrap/build_id.hpp"
#include "kernels/base/error.hpp"
#include "runtime/control/exit_codes.hpp"
#include "runtime/world/environment.hpp"
#include "runtime/world/join.hpp"

namespace muster::runtime {
namespace {

constexpr double kPatienceS = 30.0;

int run(std::vector<std::string> arguments) {
  const bool keep_mpi = !arguments.empty() && arguments[0] == "keep";
  if (keep_mpi) arguments.erase(arguments.begin());
  const Identity identity = read_identity(Environment::current());
  World world = join_world(
      identity,
      {.build_id = collectives::build_id(), .timeout_s = kPatienceS, .keep_mpi = keep_mpi});
  const std::string line = fmt::format("rank {} of {}, local {} of {}, told by {}{}\n", world.rank,
                                       world.size, world.local_rank, world.local_size, world.origin,
                                       world.mpi != nullptr ? ", MPI is open" : "");
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  world.store->barrier("joined", world.size, Deadline::after_seconds(kPatienceS));
  if (arguments.empty()) {
    leave_world(world, kPatienceS);
    return 0;
  }
  if (world.rank == 1 && arguments[0] == "kill") std::raise(SIGKILL);
  if (world.rank == 1) return std::atoi(arguments.at(1).c_str());
  world.store->get("never", Deadline::after_seconds(kPatienceS));
  return 0;
}

int run_and_report(const std::vector<std::string>& arguments) {
  try {
    return run(arguments);
  } catch (const Error& error) {
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    return exit_code_of(error.code());
  }
}

}  // namespace
}  // namespace muster::runtime

int main(int argc, char** argv) {
  return muster::runtime::run_and_report({argv + 1, argv + argc});
}
