#include "runtime/world/host.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

std::string boot_id() {
  std::ifstream file(kBootId);
  std::string id;
  if (!std::getline(file, id) || id.empty()) {
    throw Error(ErrorCode::io, fmt::format("cannot read {}: is /proc mounted?", kBootId));
  }
  return id;
}

ino_t namespace_number(std::string_view kind) {
  const std::string path = fmt::format("/proc/self/ns/{}", kind);
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) {
    throw Error(ErrorCode::io,
                fmt::format("cannot read {}: {}", path, collectives::errno_text(errno)));
  }
  return facts.st_ino;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string host_id() {
  return fmt::format("{}.{}.{}.{}", boot_id(), namespace_number("pid"), namespace_number("ipc"),
                     namespace_number("net"));
}

}  // namespace muster::runtime
