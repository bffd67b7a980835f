#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "kernels/devices.hpp"

namespace muster::collectives {

/// Makes the communicator of one rank of a group; called by the rank's own thread.
using MakeRank = std::function<std::unique_ptr<Communicator>(int rank, kernels::Device& device)>;

/// A back end as the conformance suite sees it. To join the suite is to be in all_backends().
struct BackendUnderTest {
  std::string name;
  /// What the ranks of one new group share.
  std::function<MakeRank(int ranks, int cores_per_rank)> make_group;
  int least_ranks = 1;
  int most_ranks = 8;  // that the suite tries
  /// Where every rank's memory is checked by a sanitizer's rules, less of it will do.
#ifdef __SANITIZE_ADDRESS__
  std::int64_t largest_count = (1 << 18) + 3;
#else
  std::int64_t largest_count = (1 << 20) + 3;
#endif
  bool takes_huge_counts = false;  // where the tests' memory is no limit
  bool has_symmetric_memory = false;
  /// Sums have the bits of a sum in rank order that is rounded once.
  bool keeps_rank_order = true;
  /// Where ranks are processes that all run the suite: makes this process's communicator of the
  /// group, unless it is not one of those ranks, and runs the body as it.
  std::function<void(int ranks, int cores_per_rank, const std::function<void(Communicator&)>&)>
      run_here = {};

  /// For tests whose ranks meet in memory of the test's own.
  bool has_threads() const {
    return run_here == nullptr;
  }
};

std::vector<BackendUnderTest> all_backends();
/// Those that serve two ranks and more.
std::vector<BackendUnderTest> backends_of_many();
/// Those of more than one rank whose memory() peers reach.
std::vector<BackendUnderTest> backends_with_symmetric_memory();

/// Runs `body` as every rank of a group, each in a thread with its own communicator and device. An
/// exception that leaves it is a failure of the test.
struct RankThreads {
  const BackendUnderTest& backend;
  int ranks = 2;
  int cores_per_rank = 0;

  void run(const std::function<void(Communicator&)>& body) const {
    if (!backend.has_threads()) return backend.run_here(ranks, cores_per_rank, body);
    const MakeRank make = backend.make_group(ranks, cores_per_rank);
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&make, &body, rank] {
        try {
          const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
          const auto communicator = make(rank, *device);
          body(*communicator);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
  }
};

}  // namespace muster::collectives
