#include "runtime/world/messenger.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::runtime {
namespace {

using collectives::mpi::kPlugin;
using collectives::mpi::Session;

std::vector<std::string> plugin_places() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path folder = program.parent_path();
  const std::filesystem::path above = folder.parent_path();
  return {folder / kPlugin, above / "lib" / kPlugin, above / "lib" / "muster" / kPlugin};
}

[[noreturn]] void refuse(const Identity& identity, std::string_view problem) {
  throw Error(ErrorCode::config, fmt::format("rank {} of {} was started by {}: {}", identity.rank,
                                             identity.size, identity.origin, problem));
}

std::string find_plugin(const Identity& identity) {
  const std::vector<std::string> places = plugin_places();
  std::error_code ignored;  // a place that cannot be read is no place
  for (const std::string& place : places) {
    if (std::filesystem::exists(place, ignored)) return place;
  }
  refuse(identity,
         fmt::format("this needs the MPI plug-in {}, which is not there ({}). Install Open MPI "
                     "(Debian: libopenmpi-dev) and build muster again, or start the job with "
                     "muster train -n {}, or set MASTER_ADDR, MASTER_PORT and MUSTER_SECRET_FILE",
                     kPlugin, fmt::join(places, ", "), identity.size));
}

collectives::mpi::OpenSession find_entry(const Identity& identity, const std::string& path) {
  // Open MPI's own plug-ins look for its symbols globally, and its library cannot be unloaded.
  void* const plugin = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (plugin == nullptr) {
    refuse(identity, fmt::format("the MPI plug-in cannot be opened: {}; is Open MPI installed on "
                                 "this host (Debian: libopenmpi3)?",
                                 ::dlerror()));
  }
  void* const entry = ::dlsym(plugin, collectives::mpi::kOpenSession);
  if (entry == nullptr) refuse(identity, fmt::format("{} is no plug-in of muster", path));
  return reinterpret_cast<collectives::mpi::OpenSession>(entry);
}

}  // namespace

std::unique_ptr<Session> open_messenger(const Identity& identity, const std::string& build_id) {
  const std::string path = find_plugin(identity);
  const auto open = find_entry(identity, path);
  const char* plugin_build = nullptr;
  std::unique_ptr<Session> messenger(open(build_id.c_str(), &plugin_build));
  if (messenger == nullptr) {
    refuse(identity, fmt::format("{} is build {}, this program is build {}; install both from one "
                                 "build",
                                 path, plugin_build, build_id));
  }
  log_debug(fmt::format("world: messenger={} rank={} size={}", path, messenger->rank(),
                        messenger->size()));
  if (messenger->size() != identity.size || messenger->rank() != identity.rank) {
    refuse(identity, fmt::format("the MPI library of the plug-in says rank {} of {}: it does not "
                                 "belong to that launcher; use the mpirun of the MPI that muster "
                                 "was built with",
                                 messenger->rank(), messenger->size()));
  }
  return messenger;
}

}  // namespace muster::runtime
