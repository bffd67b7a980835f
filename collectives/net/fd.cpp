#include "collectives/net/fd.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {

void Fd::reset(int number) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

void close_on_exec(int number) {
  if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    throw Error(ErrorCode::io, fmt::format("cannot mark descriptor {} close-on-exec: {}", number,
                                           errno_text(errno)));
  }
}

const char* errno_text(int error) noexcept {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : "unknown error";
}

}  // namespace muster::collectives
