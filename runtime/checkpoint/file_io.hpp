#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::runtime {

/// An open file descriptor, closed at the end. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// A file that is read by offset. Any thread may read.
class InputFile {
 public:
  /// Error(config) names the path and the reason when it cannot be opened or is no regular file.
  explicit InputFile(std::string path);

  const std::string& path() const noexcept { return path_; }
  std::int64_t bytes() const noexcept { return bytes_; }

  /// Fills `out` from byte `offset`. Error(io) names path and offset when the file ends before, or
  /// cannot be read.
  void read(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  Fd fd_;
  std::int64_t bytes_ = 0;
};

/// A new file that is written from begin to end. Errors are Error(io) and name path, bytes wanted,
/// bytes written before, and the reason ("No space left on device").
class OutputFile {
 public:
  /// Makes the file, or empties it.
  explicit OutputFile(std::string path);

  std::int64_t bytes() const noexcept { return bytes_; }
  void write(std::span<const std::byte> data);
  void write(std::string_view text);

  /// Waits until all is on the disk. Call it last: what is written after it may be lost.
  void sync();

 private:
  std::string path_;
  Fd fd_;
  std::int64_t bytes_ = 0;
};

/// Writes a whole file and waits until it is on the disk.
void write_file(const std::string& path, std::string_view text);

/// Removes a file, or a folder with all in it; nothing there is fine. Error(io).
void remove_tree(const std::filesystem::path& path);

/// What lies in a folder, in no order; nothing when it cannot be read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Waits until the names in a folder are on the disk. Error(io).
void sync_folder(const std::filesystem::path& folder);

}  // namespace muster::runtime
