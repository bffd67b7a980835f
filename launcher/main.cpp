#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "collectives/bootstrap/build_id.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "launcher/commands/bench.hpp"
#include "launcher/commands/dump.hpp"
#include "launcher/commands/probe.hpp"
#include "launcher/commands/status.hpp"
#include "launcher/commands/train.hpp"
#include "launcher/options.hpp"
#include "launcher/rank_program.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/control/exit_codes.hpp"

namespace muster::launcher {
namespace {

/// A descriptor below 3 that is closed would be taken by the next file or socket that is opened.
void open_standard_streams() {
  int number = 0;
  do {
    number = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (number >= 0 && number <= 2 && ::fcntl(number, F_SETFD, 0) == 0);
  if (number > 2) ::close(number);
}

struct Run {
  const std::vector<std::string>& arguments;

  int operator()(const ShowText& command) const {
    const bool is_written = std::fputs(command.text.c_str(), stdout) >= 0;
    return is_written && std::fflush(stdout) == 0 ? 0 : runtime::kExitFailed;
  }
  int operator()(const TrainCommand& command) const {
    start_log("launcher", command.log_level);
    return run_train_command(command, arguments);
  }
  int operator()(const GenerateCommand&) const { become_rank_program(arguments); }
  int operator()(const PlanCommand&) const { become_rank_program(arguments); }
  int operator()(const BenchCommand& command) const {
    start_log("launcher", LogLevel::info);
    return run_bench_command(command, arguments);
  }
  int operator()(const ProbeCommand& command) const {
    start_log("launcher", LogLevel::info);
    return run_probe_command(command, arguments);
  }
  int operator()(const CompareCommand& command) const { return run_compare_command(command); }
  int operator()(const StatusCommand& command) const { return run_status_command(command); }
  int operator()(const DumpCommand& command) const { return run_dump_command(command); }
};

/// Benchmarks return the numbers of nccl-tests.
int code_of(ErrorCode code, const std::vector<std::string>& arguments) {
  const bool is_bench = !arguments.empty() && arguments.front() == "bench";
  return is_bench ? runtime::bench_exit_code_of(code) : runtime::exit_code_of(code);
}

int run(const std::vector<std::string>& arguments) {
  try {
    const std::string version = fmt::format("muster {}", collectives::build_id());
    return std::visit(Run{arguments}, parse_command(arguments, version));
  } catch (const Error& error) {
    fmt::print(stderr, "muster: {}\n", error.what());
    return code_of(error.code(), arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster: {}\n", error.what());
    return runtime::kExitFailed;
  }
}

}  // namespace
}  // namespace muster::launcher

int main(int count, char** words) {
  muster::launcher::open_standard_streams();
  return muster::launcher::run({words + 1, words + count});
}
