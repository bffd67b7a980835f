#include "launcher/running_job.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/base/deadline.hpp"
#include "kernels/base/error.hpp"
#include "launcher/job_door.hpp"
#include "launcher/process_state.hpp"

namespace muster::launcher {
namespace {

using collectives::Fd;

constexpr double kAnswerLimitS = 5.0;
constexpr int kMostRanksOfAJob = 1 << 20;

/// "muster/UID/PID/JOB".
std::optional<JobName> parse_name(std::string_view text) {
  constexpr std::string_view kStart = "muster/";
  if (!text.starts_with(kStart)) return std::nullopt;
  JobName name;
  const char* const end = text.data() + text.size();
  const auto user = std::from_chars(text.data() + kStart.size(), end, name.user);
  if (user.ec != std::errc{} || user.ptr == end || *user.ptr != '/') return std::nullopt;
  const auto pid = std::from_chars(user.ptr + 1, end, name.launcher);
  if (pid.ec != std::errc{} || pid.ptr == end || *pid.ptr != '/') return std::nullopt;
  name.id.assign(pid.ptr + 1, end);
  return name;
}

JobName find_job(const std::string& job) {
  std::string known;
  for (const JobName& each : running_jobs()) {
    if (each.id == job || std::to_string(each.launcher) == job) return each;
    if (each.user == ::getuid()) known += (known.empty() ? "" : ", ") + each.id;
  }
  throw Error(ErrorCode::config,
              fmt::format("no job \"{}\" runs on this host; {}", job,
                          known.empty() ? "none of yours does" : "yours are " + known));
}

Fd connect_to(const JobName& name) {
  Fd door(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length = 0;
  const sockaddr_un address =
      door_address(door_prefix(name.user) + fmt::format("{}/{}", name.launcher, name.id), length);
  if (!door.is_open() ||
      ::connect(door.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    throw Error(ErrorCode::io, fmt::format("cannot ask the launcher (pid {}) of job {}: {}",
                                           name.launcher, name.id, collectives::errno_text(errno)));
  }
  return door;
}

/// Descriptors that came with a message; kept from leaking whatever else is wrong with it.
std::vector<Fd> take_descriptors(msghdr& message) {
  std::vector<Fd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      fds.emplace_back(number);
    }
  }
  return fds;
}

void check_answerer(const Fd& door, const JobName& name) {
  ucred who = {};
  socklen_t size = sizeof who;
  ::getsockopt(door.number(), SOL_SOCKET, SO_PEERCRED, &who, &size);
  if (who.uid == ::getuid()) return;
  throw Error(ErrorCode::config,
              fmt::format("job {} belongs to user {}; you are {} and may look at your own jobs",
                          name.id, who.uid, ::getuid()));
}

void wait_for_answer(const Fd& door, const JobName& name, const Deadline& deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining());
  pollfd ready = {door.number(), POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(left.count())) > 0) return;
  throw Error(
      ErrorCode::timeout,
      fmt::format("the launcher (pid {}) of job {} has not answered within {} s; state {}",
                  name.launcher, name.id, kAnswerLimitS, describe(state_of(name.launcher))));
}

/// Adds the ranks of one packet; false when there is no further one.
bool receive_packet(const Fd& door, RunningJob& job) {
  DoorPacket packet;
  iovec part = {&packet, sizeof packet};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * DoorPacket::kMostRanks)> space{};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  const ssize_t size = ::recvmsg(door.number(), &message, MSG_CMSG_CLOEXEC);
  const std::vector<Fd> records = take_descriptors(message);
  if (size <= 0) return false;
  const bool is_good = size == static_cast<ssize_t>(sizeof packet) &&
                       packet.magic == DoorPacket::kMagic && packet.count > 0 &&
                       static_cast<std::size_t>(packet.count) == records.size() &&
                       packet.ranks <= kMostRanksOfAJob;
  if (!is_good) {
    throw Error(ErrorCode::io, fmt::format("the launcher (pid {}) of job {} answers in a way this "
                                           "program does not know: use the job's own version",
                                           job.name.launcher, job.name.id));
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const DoorPacket::Rank& rank = packet.list[i];
    job.ranks.push_back(
        {rank.rank, rank.pid, rank.has_ended != 0, collectives::trace::RecordReader(records[i])});
  }
  return std::ssize(job.ranks) < packet.ranks;
}

}  // namespace

std::vector<JobName> running_jobs() {
  std::vector<JobName> jobs;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.rfind(" @");
    if (at == std::string::npos) continue;
    const std::optional<JobName> name = parse_name(std::string_view(line).substr(at + 2));
    const auto is_same = [&](const JobName& each) {
      return each.launcher == name->launcher && each.id == name->id;
    };
    if (name && std::none_of(jobs.begin(), jobs.end(), is_same)) jobs.push_back(*name);
  }
  return jobs;
}

RunningJob open_running_job(const std::string& job) {
  RunningJob running{find_job(job), {}};
  const Fd door = connect_to(running.name);
  const Deadline deadline = Deadline::after_seconds(kAnswerLimitS);
  bool is_more = true;
  while (is_more) {
    wait_for_answer(door, running.name, deadline);
    is_more = receive_packet(door, running);
    check_answerer(door, running.name);
  }
  if (running.ranks.empty()) {
    throw Error(ErrorCode::io, fmt::format("the launcher (pid {}) of job {} turned us away",
                                           running.name.launcher, running.name.id));
  }
  return running;
}

}  // namespace muster::launcher
