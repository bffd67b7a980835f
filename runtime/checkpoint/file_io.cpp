#include "runtime/checkpoint/file_io.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

// One system call moves less than 2^31 bytes.
constexpr std::size_t kMostPerCall = std::size_t{1} << 30;

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  const bool is_open = fd_.get() >= 0 && ::fstat(fd_.get(), &status) == 0;
  if (!is_open) {
    throw Error(ErrorCode::config, fmt::format("cannot open {}: {}", path_, reason(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::config, fmt::format("cannot open {}: not a regular file", path_));
  }
  bytes_ = status.st_size;
}

void InputFile::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::size_t wanted = std::min(out.size(), kMostPerCall);
    const ssize_t got = ::pread(fd_.get(), out.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorCode::io,
                  fmt::format("cannot read {} bytes at offset {} of {}: {}", out.size(), offset,
                              path_, got == 0 ? "the file ends there" : reason(errno)));
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd_.get() < 0) {
    throw Error(ErrorCode::io, fmt::format("cannot make {}: {}", path_, reason(errno)));
  }
}

void OutputFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = ::write(fd_.get(), data.data(), std::min(data.size(), kMostPerCall));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      throw Error(ErrorCode::io, fmt::format("cannot write {} bytes to {} after {} bytes: {}",
                                             data.size(), path_, bytes_, reason(errno)));
    }
    data = data.subspan(static_cast<std::size_t>(put));
    bytes_ += put;
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void OutputFile::sync() {
  if (::fsync(fd_.get()) != 0) {
    throw Error(ErrorCode::io, fmt::format("cannot bring {} ({} bytes) to the disk: {}", path_,
                                           bytes_, reason(errno)));
  }
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.sync();
}

void remove_tree(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    throw Error(ErrorCode::io, fmt::format("cannot remove {}: {}", path.string(), error.message()));
  }
}

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

void sync_folder(const std::filesystem::path& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) {
    throw Error(ErrorCode::io, fmt::format("cannot bring the folder {} to the disk: {}",
                                           folder.string(), reason(errno)));
  }
}

}  // namespace muster::runtime
