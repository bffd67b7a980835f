#include "launcher/job_door.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::launcher {
namespace {

using collectives::Fd;

constexpr int kWaiting = 16;  // who knock at once

bool is_own_user(const Fd& peer) {
  ucred who = {};
  socklen_t size = sizeof who;
  return ::getsockopt(peer.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         who.uid == ::getuid();
}

bool send_packet(const Fd& peer, const DoorPacket& packet, std::span<const int> records) {
  iovec part = {const_cast<DoorPacket*>(&packet), sizeof packet};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * DoorPacket::kMostRanks)> space{};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(records.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(records.size_bytes());
  std::memcpy(CMSG_DATA(header), records.data(), records.size_bytes());
  return ::sendmsg(peer.number(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof packet);
}

}  // namespace

std::string door_prefix(uid_t user) {
  return fmt::format("muster/{}/", user);
}

sockaddr_un door_address(const std::string& name, socklen_t& length) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(&address.sun_path[1], name.data(), size);  // after a zero byte: abstract
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

JobDoor::JobDoor(const std::string& job_id)
    : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const std::string name = door_prefix(::getuid()) + fmt::format("{}/{}", ::getpid(), job_id);
  socklen_t length = 0;
  const sockaddr_un address = door_address(name, length);
  if (!listener_.is_open() ||
      ::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener_.number(), kWaiting) != 0) {
    throw Error(ErrorCode::io, fmt::format("no socket \"{}\" for muster status: {}", name,
                                           collectives::errno_text(errno)));
  }
}

void JobDoor::answer(const std::vector<Rank>& ranks) {
  const Fd peer(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.is_open() || !is_own_user(peer)) return;
  for (std::size_t first = 0; first < ranks.size(); first += DoorPacket::kMostRanks) {
    DoorPacket packet;
    std::vector<int> records;
    const std::size_t end = std::min(first + DoorPacket::kMostRanks, ranks.size());
    for (std::size_t i = first; i < end; ++i) {
      packet.list[i - first] = ranks[i].names;
      records.push_back(ranks[i].record);
    }
    packet.ranks = static_cast<std::int32_t>(ranks.size());
    packet.count = static_cast<std::int32_t>(records.size());
    if (!send_packet(peer, packet, records)) return;
  }
}

}  // namespace muster::launcher
