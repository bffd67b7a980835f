#include "launcher/rank_process.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/trace/memory.hpp"
#include "kernels/base/error.hpp"
#include "launcher/rank_environment.hpp"
#include "runtime/control/packet_socket.hpp"

namespace muster::launcher {
namespace {

using collectives::Fd;

constexpr unsigned long kFilesPerRank =
    10;  // six of the launcher's, and the rank's ends while it starts
constexpr unsigned long kOwnFiles =
    64;  // standard streams, store and its clients' handshakes, and so on

[[noreturn]] void fail(const RankLaunch& launch, std::string_view doing, int error) {
  throw Error(ErrorCode::io, fmt::format("cannot start rank {} of {}: {}: {}", launch.rank,
                                         launch.size, doing, collectives::errno_text(error)));
}

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe(const RankLaunch& launch) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(launch, "no pipe", errno);
  return {Fd(ends[0]), Fd(ends[1])};
}

/// The ticket fits into a pipe's buffer, so that nobody has to wait.
Fd ticket_pipe(const RankLaunch& launch) {
  Pipe pipe = make_pipe(launch);
  const std::string text = collectives::encode(launch.ticket);
  if (::write(pipe.write.number(), text.data(), text.size()) != std::ssize(text)) {
    fail(launch, "the ticket does not fit into its pipe", errno);
  }
  return std::move(pipe.read);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Everything the child needs, laid out before the fork: between fork and exec only system calls
/// are allowed, since the launcher has other threads.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  pid_t launcher;
  int in, out, err;
  std::array<int, 3> inherited;  // ticket, control and flight recorder
  int failure;                   // takes the errno of what went wrong; closed by a good exec
  const cpu_set_t* cpus;         // null: as inherited
  std::size_t cpus_bytes;
  const sigset_t* signal_mask;
  rlimit files;
};

/// A step that failed, as its errno.
int prepare_child(const ChildPlan& plan) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != plan.launcher) ::_exit(1);  // it ended before the line above
  if (::setpgid(0, 0) != 0) return errno;
  if (::dup2(plan.in, 0) < 0 || ::dup2(plan.out, 1) < 0 || ::dup2(plan.err, 2) < 0) return errno;
  for (const int number : plan.inherited) {
    if (::fcntl(number, F_SETFD, 0) != 0) return errno;
  }
  if (plan.cpus != nullptr && ::sched_setaffinity(0, plan.cpus_bytes, plan.cpus) != 0) return errno;
  ::setrlimit(RLIMIT_NOFILE, &plan.files);
  ::signal(SIGPIPE, SIG_DFL);
  // A stop request that comes before the rank listens waits instead of killing it.
  sigset_t mask = *plan.signal_mask;
  ::sigaddset(&mask, SIGTERM);
  return ::sigprocmask(SIG_SETMASK, &mask, nullptr) == 0 ? 0 : errno;
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  int error = prepare_child(plan);
  if (error == 0) {
    ::execve(plan.program, plan.arguments, plan.environment);
    error = errno;
  }
  [[maybe_unused]] const ssize_t ignored = ::write(plan.failure, &error, sizeof error);
  ::_exit(127);
}

/// A set of processors of any size.
class CpuSet {
 public:
  explicit CpuSet(const Cpus& cpus) {
    const int count = cpus.empty() ? 1 : cpus.back() + 1;
    bytes_ = CPU_ALLOC_SIZE(count);
    words_.resize(bytes_ / sizeof(cpu_set_t) + 1);
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, words_.data());
  }
  const cpu_set_t* words() const { return words_.data(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::vector<cpu_set_t> words_;
};

rlimit file_limit(unsigned long soft) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = soft;
  return limit;
}

/// Forks and waits until the child runs its program. Returns its pid.
pid_t fork_and_exec(const RankLaunch& launch, ChildPlan plan) {
  Pipe failure = make_pipe(launch);
  plan.failure = failure.write.number();
  plan.launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail(launch, "fork", errno);
  if (pid == 0) run_child(plan);
  ::setpgid(pid, pid);  // the child does it too: whoever comes first
  failure.write.reset();
  int error = 0;
  ssize_t bytes = 0;
  do {
    bytes = ::read(failure.read.number(), &error, sizeof error);
  } while (bytes < 0 && errno == EINTR);
  if (bytes == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  fail(launch, launch.program, error);
}

void do_not_block(const RankLaunch& launch, const Fd& fd) {
  if (::fcntl(fd.number(), F_SETFL, O_NONBLOCK) != 0) fail(launch, "fcntl", errno);
}

}  // namespace

RankProcess start_rank(const RankLaunch& launch) {
  const Fd ticket = ticket_pipe(launch);
  auto [control, rank_control] = runtime::make_control_pair();
  const Fd record = collectives::trace::create_record_memory();
  Fd trace = collectives::trace::reopen_read_only(record);
  Pipe out = make_pipe(launch);
  Pipe err = make_pipe(launch);
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.is_open()) fail(launch, "/dev/null", errno);
  do_not_block(launch, out.read);
  do_not_block(launch, err.read);

  std::vector<std::string> arguments = {launch.program};
  arguments.insert(arguments.end(), launch.arguments.begin(), launch.arguments.end());
  std::vector<std::string> environment =
      rank_environment(inherited_environment(), {.rank = launch.rank,
                                                 .size = launch.size,
                                                 .job_id = launch.ticket.job_id,
                                                 .store = launch.ticket.store,
                                                 .ticket_fd = ticket.number(),
                                                 .control_fd = rank_control.number(),
                                                 .trace_fd = record.number()});
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const CpuSet cpus(launch.cpus);
  const std::array<int, 3> inherited = {ticket.number(), rank_control.number(), record.number()};
  const pid_t pid = fork_and_exec(launch, {.program = launch.program.c_str(),
                                           .arguments = argument_pointers.data(),
                                           .environment = environment_pointers.data(),
                                           .launcher = 0,
                                           .in = nothing.number(),
                                           .out = out.write.number(),
                                           .err = err.write.number(),
                                           .inherited = inherited,
                                           .failure = -1,
                                           .cpus = launch.cpus.empty() ? nullptr : cpus.words(),
                                           .cpus_bytes = cpus.bytes(),
                                           .signal_mask = &launch.signal_mask,
                                           .files = file_limit(launch.open_files)});
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.is_open()) fail(launch, "pidfd_open (it needs Linux 5.3)", errno);
  return {launch.rank,         pid,
          std::move(pidfd),    std::move(control),
          std::move(out.read), std::move(err.read),
          std::move(trace)};
}

unsigned long make_room_for_files(int ranks) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const unsigned long before = limit.rlim_cur;
  const auto needed = static_cast<unsigned long>(ranks) * kFilesPerRank + kOwnFiles;
  if (limit.rlim_cur >= needed) return before;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed) {
    throw Error(ErrorCode::config,
                fmt::format("-n {} needs {} open files, the limit is {}; raise it (ulimit -Hn), or "
                            "start fewer ranks",
                            ranks, needed, limit.rlim_max));
  }
  limit.rlim_cur = needed;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

}  // namespace muster::launcher
