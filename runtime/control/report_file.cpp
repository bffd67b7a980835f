#include "runtime/control/report_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr int kMode = 0644;

[[noreturn]] void fail(const std::string& path) {
  throw Error(ErrorCode::io,
              fmt::format("cannot write the report {}: {}", path, collectives::errno_text(errno)));
}

}  // namespace

ReportFile::ReportFile(const std::string& path, IfThere if_there) : path_(path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC;
  file_.reset(::open(path_.c_str(), kFlags | O_EXCL, kMode));
  for (int i = 0; !file_.is_open() && errno == EEXIST && if_there == IfThere::count_up; ++i) {
    path_ = fmt::format("{}.{}", path, i);
    file_.reset(::open(path_.c_str(), kFlags | O_EXCL, kMode));
  }
  if (!file_.is_open() && errno == EEXIST) {
    is_new_ = false;
    file_.reset(::open(path_.c_str(), kFlags, kMode));
  }
  if (!file_.is_open()) fail(path_);
}

ReportFile::~ReportFile() {
  if (!is_written_ && is_new_) ::unlink(path_.c_str());
}

void ReportFile::write(std::string_view text) {
  is_written_ = true;
  if (!is_new_ && ::ftruncate(file_.number(), 0) != 0 && errno != EINVAL) fail(path_);  // a pipe
  while (!text.empty()) {
    const ssize_t written = ::write(file_.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace muster::runtime
