#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/transport/transport.hpp"
#include "tests/support/local_hub.hpp"

namespace muster::collectives {

/// Connects ranks that are threads of one process: a whole network in memory, with the faults a
/// test asks for. A message moves when both ends have posted it, never before, so that an algorithm
/// that counts on buffers somewhere stops here and is found.
///
/// Any thread may call. The network lives as long as it or a fabric of it is held: they share it.
class LocalNetwork {
 public:
  LocalNetwork(std::string group, int size, LocalLink link = {});

  /// The end of `rank`, to be made once. When it is destroyed the rank has left the group.
  std::unique_ptr<Fabric> open(int rank) const;

  /// `rank` is dead: it and all who wait for it get peer_lost.
  void kill(int rank) const;
  /// As kill, in place of the message with which the rank would have sent more than `messages`.
  void kill_after(int rank, std::int64_t messages) const;
  /// The next message from one rank to another is lost on the way.
  void lose_next(int from, int to) const;

  Traffic sent_by(int rank) const;

 private:
  std::shared_ptr<LocalHub> hub_;
};

}  // namespace muster::collectives
