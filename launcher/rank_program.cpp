#include "launcher/rank_program.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::launcher {

std::string rank_program() {
  const char* const chosen = std::getenv("MUSTER_RANK_PROGRAM");
  std::string path =
      chosen != nullptr
          ? std::string(chosen)
          : (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "muster-rank")
                .string();
  if (::access(path.c_str(), X_OK) != 0) {
    throw Error(ErrorCode::config,
                fmt::format("the program of the ranks, {}, cannot be run: {}; {}", path,
                            collectives::errno_text(errno),
                            chosen != nullptr ? "MUSTER_RANK_PROGRAM names it"
                                              : "it belongs in the same folder as muster"));
  }
  return path;
}

void become_rank_program(std::span<const std::string> arguments) {
  std::string path = rank_program();
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(path.c_str(), pointers.data());
  throw Error(ErrorCode::io,
              fmt::format("cannot run {}: {}", path, collectives::errno_text(errno)));
}

}  // namespace muster::launcher
