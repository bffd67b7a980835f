#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "collectives/bootstrap/build_id.hpp"
#include "kernels/base/error.hpp"
#include "launcher/options.hpp"
#include "launcher/rank_session.hpp"
#include "runtime/bench/bench_environment.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/bench/run_bench.hpp"
#include "runtime/config/job.hpp"
#include "runtime/control/exit_codes.hpp"
#include "runtime/probe/run_probe.hpp"
#include "runtime/train/run.hpp"
#include "runtime/world/join.hpp"

namespace muster::launcher {
namespace {

[[noreturn]] void refuse(std::string_view command) {
  throw Error(ErrorCode::config, fmt::format("{} is a command of muster, not of a rank", command));
}

/// What a rank does for each command; muster-rank takes the same command lines as muster.
struct RunRank {
  RankSession& session;
  const std::vector<std::string>& arguments;

  int operator()(const ShowText& command) const {
    std::fputs(command.text.c_str(), stdout);
    return 0;
  }
  int operator()(const TrainCommand& command) const {
    const runtime::Identity& identity = session.identify(command.log_level);
    const runtime::JobConfig config = runtime::load_job(command.job, command.settings);
    const double timeout_s = config.comm.init_timeout_seconds;
    runtime::World world =
        runtime::join_world(identity, {.build_id = collectives::build_id(),
                                       .timeout_s = timeout_s,
                                       .keep_mpi = config.comm.backend == "mpi"});
    const auto reporter = session.reporter(config.logging.interval);
    const int code = runtime::run_train(world, config, *reporter, session.stop());
    runtime::leave_world(world, timeout_s);
    return code;
  }
  int operator()(const StatusCommand&) const { refuse("status"); }
  int operator()(const DumpCommand&) const { refuse("dump"); }
  int operator()(const GenerateCommand& command) const {
    return runtime::run_generate(command.options, *session.reporter(1));
  }
  int operator()(const PlanCommand& command) const {
    return runtime::run_plan({.config = runtime::load_job(command.job, command.settings),
                              .ranks = command.ranks,
                              .show_program = command.show_program,
                              .show_config = command.show_config},
                             *session.reporter(1));
  }
  int operator()(const BenchCommand& command) const {
    session.use_exit_codes(runtime::bench_exit_code_of);
    const runtime::Identity& identity = session.identify(LogLevel::info);
    runtime::BenchOptions options = command.options;
    options.least_bandwidth = runtime::least_bandwidth_of(runtime::Environment::current());
    options.arguments = {"muster"};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    runtime::World world = runtime::join_world(identity, {.build_id = collectives::build_id(),
                                                          .timeout_s = runtime::kBenchStartTimeout,
                                                          .keep_mpi = options.backend == "mpi"});
    const int code = runtime::run_bench(world, options, collectives::build_id(),
                                        *session.reporter(1), session.stop());
    runtime::leave_world(world, options.timeout_s);
    return code;
  }
  int operator()(const ProbeCommand& command) const {
    const runtime::Identity& identity = session.identify(LogLevel::info);
    const double timeout_s = command.options.timeout_s;
    runtime::World world =
        runtime::join_world(identity, {.build_id = collectives::build_id(),
                                       .timeout_s = timeout_s,
                                       .keep_mpi = command.options.backend == "mpi"});
    const int code = runtime::run_probe(world, command.options, *session.reporter(1));
    runtime::leave_world(world, timeout_s);
    return code;
  }
  int operator()(const CompareCommand&) const {
    throw Error(ErrorCode::config, "compare is a command of muster, not of a rank");
  }
};

int run(const std::vector<std::string>& arguments) {
  try {
    RankSession session;
    return session.run([&] {
      const std::string version = fmt::format("muster-rank {}", collectives::build_id());
      return std::visit(RunRank{session, arguments}, parse_command(arguments, version));
    });
  } catch (const Error& error) {
    fmt::print(stderr, "muster: {}\n", error.what());
    return runtime::exit_code_of(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster: {}\n", error.what());
    return runtime::kExitFailed;
  }
}

}  // namespace
}  // namespace muster::launcher

int main(int count, char** words) {
  return muster::launcher::run({words + 1, words + count});
}
