#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/control/launcher_link.hpp"
#include "runtime/control/reporter.hpp"
#include "runtime/world/identity.hpp"
#include "runtime/world/world.hpp"

namespace muster::launcher {

/// What surrounds the work of a rank process: signals, the channel to the launcher, errors and the
/// exit code. One per process.
class RankSession {
 public:
  /// Opens the flight recorder, and the channel to the launcher, if there is one: it can ask for a
  /// stop from here on.
  /// Error(config) when the environment is wrong.
  RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  const runtime::StopFlag& stop() const noexcept;

  /// Makes this process a rank: reads which one, starts its log, and from here on SIGINT and
  /// SIGTERM ask for a stop, and the second of them ends the process. Error(config) as
  /// read_identity().
  const runtime::Identity& identify(LogLevel least);

  /// Reports through the launcher if there is one, else to standard output.
  std::unique_ptr<runtime::Reporter> reporter(std::int64_t interval);

  /// From now on errors end this process with what `code_of` says instead of
  /// runtime::exit_code_of().
  void use_exit_codes(int (*code_of)(ErrorCode)) noexcept { code_of_ = code_of; }

  /// Runs the body of a rank and returns the code the process should end with. An error is told to
  /// the launcher, which prints it once, or printed to standard error when there is none.
  int run(const std::function<int()>& body);

 private:
  int fail(ErrorCode code, const std::string& cause);

  int (*code_of_)(ErrorCode);
  runtime::Identity identity_;
  std::unique_ptr<runtime::LauncherLink> link_;
};

}  // namespace muster::launcher
