#include "launcher/local_job.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collectives/bootstrap/tcp_store_server.hpp"
#include "collectives/bootstrap/ticket.hpp"
#include "launcher/console.hpp"
#include "launcher/descendants.hpp"
#include "launcher/output_queue.hpp"
#include "launcher/placement.hpp"
#include "launcher/rank_process.hpp"
#include "launcher/rank_program.hpp"
#include "launcher/signals.hpp"
#include "launcher/supervisor.hpp"
#include "runtime/world/cores.hpp"

namespace muster::launcher {
namespace {

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
std::vector<Cpus> place_ranks(int ranks, int threads, Console& console) {
  const Cpus cpus = runtime::affinity_cpus();
  std::vector<Cpus> shares = divide(physical_cores(cpus), ranks);
  const std::string place = fmt::format("{} {} on this host", ranks, ranks == 1 ? "rank" : "ranks");
  if (shares.empty()) {
    console.notice(fmt::format("{}, sharing processors {}: fewer than ranks", place,
                               runtime::cpu_list_text(cpus)));
    return {};
  }
  if (threads > std::ssize(shares.front())) {
    console.notice(
        fmt::format("{}, not bound: device.threads = {} is more than a rank's share of "
                    "processors, {}",
                    place, threads, shares.front().size()));
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

}  // namespace

int run_local_job(const LocalJob& job, std::span<const std::string> arguments) {
  ::signal(SIGPIPE, SIG_IGN);  // a job goes on when nobody reads its output any more
  const Descendants descendants;
  OutputQueue output;   // outlives the blocked signals: Ctrl-C ends a wait for a reader that sleeps
  StopSignals signals;  // before the store's thread, which must not take them
  Console console = make_console(output);
  const collectives::Secret secret = collectives::Secret::random();
  const collectives::TcpStoreServer store(secret, {});
  const std::vector<Cpus> shares = place_ranks(job.ranks, job.threads, console);
  const std::string job_id = collectives::random_job_id();
  if (job.is_resumable) {
    console.notice(
        fmt::format("job {}: muster status {} shows what its ranks are at", job_id, job_id));
  }
  Supervisor supervisor(start_ranks({.ranks = job.ranks,
                                     .arguments = {arguments.begin(), arguments.end()},
                                     .ticket = {store.endpoint(), secret, job_id},
                                     .shares = shares,
                                     .signal_mask = signals.mask_before()}),
                        {job.grace_s, job.stall_warning_s, job_id}, console, output, signals);
  if (!job.is_resumable) supervisor.leave_no_checkpoint();
  supervisor.run();
  const bool is_all_gone = descendants.end_all();
  supervisor.take_last_output();
  console.settle();
  const Verdict verdict = supervisor.verdict();
  for (const std::string& line : verdict.lines) console.notice(line);
  if (!is_all_gone) console.notice("some processes that ranks started do not end");
  return verdict.exit_code;
}

}  // namespace muster::launcher
