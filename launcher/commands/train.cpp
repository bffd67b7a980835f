#include "launcher/commands/train.hpp"

#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collectives/bootstrap/tcp_store_server.hpp"
#include "collectives/bootstrap/ticket.hpp"
#include "kernels/base/error.hpp"
#include "launcher/console.hpp"
#include "launcher/descendants.hpp"
#include "launcher/output_queue.hpp"
#include "launcher/placement.hpp"
#include "launcher/rank_process.hpp"
#include "launcher/rank_program.hpp"
#include "launcher/signals.hpp"
#include "launcher/supervisor.hpp"
#include "runtime/config/job.hpp"
#include "runtime/world/cores.hpp"
#include "runtime/world/identity.hpp"

namespace muster::launcher {
namespace {

void check_agreement(const TrainCommand& command, const runtime::Identity& identity) {
  if (command.ranks && *command.ranks != identity.size) {
    throw Error(ErrorCode::config, fmt::format("-n {}, but {} has started {} ranks; leave -n out",
                                               *command.ranks, identity.origin, identity.size));
  }
}

/// The job, checked before anything starts: each rank reads the same file again.
runtime::JobConfig check_job(const TrainCommand& command) {
  std::error_code missing;  // load_job() says it better
  const auto status = std::filesystem::status(command.job, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::config, fmt::format("{} is not a regular file: every rank has to read "
                                               "the job file, write it to a file first",
                                               command.job));
  }
  return runtime::load_job(command.job, command.settings);
}

int terminal_columns() {
  winsize size = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Console make_console(OutputQueue& output) {
  return Console({.is_out = ::isatty(STDOUT_FILENO) == 1,
                  .is_err = ::isatty(STDERR_FILENO) == 1,
                  .columns = terminal_columns},
                 [&output](Stream stream, std::string text) {
                   output.put(stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO,
                              std::move(text));
                 });
}

/// Processors of each rank; empty when they share all. Says which, and why.
std::vector<Cpus> place_ranks(int ranks, const runtime::JobConfig& job, Console& console) {
  const Cpus cpus = runtime::affinity_cpus();
  std::vector<Cpus> shares = divide(physical_cores(cpus), ranks);
  const std::string place = fmt::format("{} {} on this host", ranks, ranks == 1 ? "rank" : "ranks");
  if (shares.empty()) {
    console.notice(fmt::format("{}, sharing processors {}: fewer than ranks", place,
                               runtime::cpu_list_text(cpus)));
    return {};
  }
  if (job.device.threads > std::ssize(shares.front())) {
    console.notice(
        fmt::format("{}, not bound: device.threads = {} is more than a rank's share of "
                    "processors, {}",
                    place, job.device.threads, shares.front().size()));
    return {};
  }
  console.notice(fmt::format("{}, bound to processors: {}", place, describe(shares)));
  return shares;
}

struct Start {
  int ranks = 1;
  std::vector<std::string> arguments;
  collectives::Ticket ticket;
  std::vector<Cpus> shares;
  sigset_t signal_mask{};
};

std::vector<RankProcess> start_ranks(const Start& start) {
  const std::string program = rank_program();
  const unsigned long open_files = make_room_for_files(start.ranks);
  std::vector<RankProcess> processes;
  for (int rank = 0; rank < start.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    processes.push_back(start_rank({.program = program,
                                    .arguments = start.arguments,
                                    .rank = rank,
                                    .size = start.ranks,
                                    .ticket = start.ticket,
                                    .cpus = start.shares.empty() ? Cpus{} : start.shares[index],
                                    .signal_mask = start.signal_mask,
                                    .open_files = open_files}));
  }
  return processes;
}

int run_ranks(const TrainCommand& command, const runtime::JobConfig& job,
              std::span<const std::string> arguments) {
  const int ranks = command.ranks.value_or(1);
  ::signal(SIGPIPE, SIG_IGN);  // a job goes on when nobody reads its output any more
  const Descendants descendants;
  OutputQueue output;   // outlives the blocked signals: Ctrl-C ends a wait for a reader that sleeps
  StopSignals signals;  // before the store's thread, which must not take them
  Console console = make_console(output);
  const collectives::Secret secret = collectives::Secret::random();
  const collectives::TcpStoreServer store(secret, {});
  const std::vector<Cpus> shares = place_ranks(ranks, job, console);
  const std::string job_id = collectives::random_job_id();
  console.notice(
      fmt::format("job {}: muster status {} shows what its ranks are at", job_id, job_id));
  Supervisor supervisor(start_ranks({.ranks = ranks,
                                     .arguments = {arguments.begin(), arguments.end()},
                                     .ticket = {store.endpoint(), secret, job_id},
                                     .shares = shares,
                                     .signal_mask = signals.mask_before()}),
                        {command.grace_s, command.stall_warning_s, job_id}, console, output,
                        signals);
  supervisor.run();
  const bool is_all_gone = descendants.end_all();
  supervisor.take_last_output();
  console.settle();
  const Verdict verdict = supervisor.verdict();
  for (const std::string& line : verdict.lines) console.notice(line);
  if (!is_all_gone) console.notice("some processes that ranks started do not end");
  return verdict.exit_code;
}

}  // namespace

int run_train_command(const TrainCommand& command, std::span<const std::string> arguments) {
  const runtime::Identity identity = runtime::read_identity(runtime::Environment::current());
  if (!identity.is_single()) {
    check_agreement(command, identity);
    become_rank_program(arguments);
  }
  return run_ranks(command, check_job(command), arguments);
}

}  // namespace muster::launcher
