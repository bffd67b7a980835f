#include "runtime/config/file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

[[noreturn]] void cannot_read(const std::string& path, int reason) {
  throw Error(ErrorCode::config,
              fmt::format("cannot read {}: {}", path, std::generic_category().message(reason)));
}

}  // namespace

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) cannot_read(path, errno);
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) != 0) cannot_read(path, errno);
  if (S_ISDIR(status.st_mode)) cannot_read(path, EISDIR);
  if (status.st_size > max_bytes) {
    throw Error(ErrorCode::config, fmt::format("{} has {} bytes, more than the limit of {} bytes",
                                               path, status.st_size, max_bytes));
  }
  // A pipe has no size, and a file may grow: what is read is bounded too.
  std::string text;
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    text.append(piece, 0, got);
    if (static_cast<std::int64_t>(text.size()) > max_bytes) {
      throw Error(ErrorCode::config,
                  fmt::format("{} has more than the limit of {} bytes", path, max_bytes));
    }
  }
  if (std::ferror(file.get()) != 0) cannot_read(path, errno);
  return text;
}

}  // namespace muster::runtime
