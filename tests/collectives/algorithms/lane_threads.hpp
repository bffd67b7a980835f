#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algorithms/list.hpp"
#include "collectives/signature.hpp"
#include "kernels/devices.hpp"
#include "tests/support/local_fabric.hpp"

namespace muster::collectives::algorithms {

/// What one rank's thread has.
struct RankLane {
  Lane lane;
  Fabric& fabric;
  std::uint64_t sequence = 0;

  /// One call from its begin to its end; sequence numbers go up by themselves.
  void perform(const Algorithm& algorithm, Call call, double timeout_s = 60.0) {
    call.sequence = sequence++;
    call.options.timeout_s = timeout_s;
    lane.deadline = deadline_of(call.options);
    lane.transport.begin(Signature(call), call.options, lane.deadline);
    algorithms::perform(algorithm, lane, call);
  }
};

/// Runs `body` as every rank of a network, each in a thread with a lane of its own. An exception
/// that leaves it is a failure of the test.
inline void as_each_rank(const LocalNetwork& network, int ranks, std::size_t piece_bytes,
                         const std::function<void(RankLane&)>& body) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
        const auto fabric = network.open(rank);
        const auto transport = fabric->open_lane(0);
        Scratch scratch;
        RankLane self{{*transport, *device, scratch, piece_bytes}, *fabric};
        body(self);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

/// Of the list, by kind and name.
inline const Algorithm& algorithm_of(CallKind kind, std::string_view name) {
  for (const Algorithm& algorithm : all_algorithms()) {
    if (algorithm.kind == kind && algorithm.name == name) return algorithm;
  }
  throw Error(ErrorCode::invalid_argument, "no such algorithm");
}

}  // namespace muster::collectives::algorithms
