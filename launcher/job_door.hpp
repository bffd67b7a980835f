#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "collectives/net/fd.hpp"

namespace muster::launcher {

/// How a running job is found and asked: an abstract unix socket, which leaves no file behind,
/// named "muster/UID/PID/JOB". Whoever connects gets the flight recorders of the ranks, as
/// descriptors to be read, so that an answer costs the launcher nothing and needs no rank.

/// One packet of the answer, with one descriptor for each of its ranks, in order.
struct DoorPacket {
  static constexpr std::uint64_t kMagic = 0x31524F4F4454534D;  // "MSTDOOR1" in memory
  static constexpr std::size_t kMostRanks = 200;  // the system passes up to 253 at once

  struct Rank {
    std::int32_t rank = 0;
    std::int32_t pid = 0;
    std::int32_t has_ended = 0;
  };

  std::uint64_t magic = kMagic;
  std::int32_t ranks = 0;  // of the job on this host
  std::int32_t count = 0;  // in this packet
  std::array<Rank, kMostRanks> list{};
};

/// Prefix of the names of a user's jobs, without the leading zero byte: "muster/1000/".
std::string door_prefix(uid_t user);
/// The address of that name.
sockaddr_un door_address(const std::string& name, socklen_t& length);

/// The launcher's end. One thread; nothing here waits.
class JobDoor {
 public:
  struct Rank {
    DoorPacket::Rank names;
    int record = -1;  // descriptor
  };

  /// Error(io) when there can be no such socket.
  explicit JobDoor(const std::string& job_id);

  /// Readable when somebody knocks.
  int number() const noexcept { return listener_.number(); }
  /// Answers one who knocks. Another user is turned away; who does not take the answer gets none.
  void answer(const std::vector<Rank>& ranks);

 private:
  collectives::Fd listener_;
};

}  // namespace muster::launcher
