#include "collectives/mpi/mpi_communicator.hpp"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/self/self_communicator.hpp"

namespace muster::collectives::mpi {
namespace {

std::string key_of(const GroupSpec& spec, int rank) {
  return fmt::format("comm/{}/mpi/{}", spec.name, rank);
}

int parse_rank(std::string_view text, int size) {
  int rank = -1;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, rank);
  if (result.ec != std::errc() || result.ptr != end || rank < 0 || rank >= size) {
    throw Error(ErrorCode::io, fmt::format("\"{}\" is not a rank of MPI's {}", text, size));
  }
  return rank;
}

// Every member's number in the job as MPI knows it, [size]: returns once all are there.
std::vector<int> meet(const GroupSpec& spec, Store& store, Deadline deadline) {
  store.set(key_of(spec, spec.rank), fmt::format("{}", spec.mpi->rank()));
  std::vector<int> ranks;
  for (int rank = 0; rank < spec.size; ++rank) {
    const auto describe = [&] {
      return fmt::format("waiting for rank {} of group {} to make it in MPI", rank, spec.name);
    };
    ranks.push_back(with_context(describe, [&] {
      return parse_rank(store.get(key_of(spec, rank), deadline), spec.mpi->size());
    }));
  }
  return ranks;
}

}  // namespace

MpiCommunicator::MpiCommunicator(const GroupSpec& spec, std::unique_ptr<Group> group,
                                 kernels::Device& device, const Options& options)
    : Communicator(spec.name, spec.rank, spec.size),
      options_(options),
      device_(device),
      group_(std::move(group)),
      notes_(*group_, spec.rank, spec.size),
      context_{*group_, notes_, spec.name, spec.rank, spec.size, options.cores_per_rank >= 1} {}

MpiCommunicator::~MpiCommunicator() {
  for (auto& end : lane_ends_) end.reset();  // their threads, before the group they use
  notes_.leave();
}

Pending MpiCommunicator::do_call(const Call& call) {
  if (call.options.lane >= options_.lanes) {
    throw Error(ErrorCode::unsupported,
                fmt::format("lane {} of group {}: this MPI library serves one thread only "
                            "(MPI_Init_thread gave less than MPI_THREAD_SERIALIZED), so there is "
                            "lane 0 alone; use an MPI built with threads",
                            call.options.lane, name()));
  }
  LaneEnd& end = lane_end(call.options.lane);
  if (end.worker != nullptr) return end.worker->enqueue(call);
  execute(end.lane, call, deadline_of(call.options));
  return {};
}

MpiCommunicator::LaneEnd& MpiCommunicator::lane_end(int lane) {
  std::unique_ptr<LaneEnd>& end = lane_ends_[static_cast<std::size_t>(lane)];
  if (end != nullptr) return *end;
  end = std::make_unique<LaneEnd>(context_, lane, options_.largest_bytes);
  if (lane > 0 && options_.cores_per_rank >= 2) {
    end->worker =
        std::make_unique<LaneWorker>([this, made = end.get()](const Call& call, Deadline deadline) {
          execute(made->lane, call, deadline);
        });
  }
  return *end;
}

void MpiCommunicator::execute(Lane& lane, const Call& call, Deadline deadline) {
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failure_mutex_);
    throw Error(*failure_);
  }
  try {
    lane.run(call, deadline);
  } catch (const Error& error) {
    fail(lane, error);
    throw;
  }
}

void MpiCommunicator::fail(Lane& lane, const Error& error) {
  const std::scoped_lock lock(failure_mutex_);
  group_->abandon(lane.memory());
  if (!failure_) failure_ = error;
  has_failed_.store(true, std::memory_order_release);
}

std::unique_ptr<Communicator> create_mpi_communicator(const GroupSpec& spec, Store& store,
                                                      kernels::Device& device, Deadline deadline) {
  if (spec.size == 1) return std::make_unique<SelfCommunicator>(spec, device);
  const std::vector<int> ranks = meet(spec, store, deadline);
  int error = kSuccess;
  std::unique_ptr<Group> group = spec.mpi->create_group(ranks, error);
  if (group == nullptr) {
    std::array<char, 512> words{};
    spec.mpi->describe(error, words);
    throw Error(ErrorCode::io, fmt::format("MPI refused to make group {} of {} ranks: {}",
                                           spec.name, spec.size, words.data()));
  }
  return std::make_unique<MpiCommunicator>(
      spec, std::move(group), device,
      MpiCommunicator::Options{.cores_per_rank = spec.cores_per_rank, .lanes = spec.mpi->lanes()});
}

}  // namespace muster::collectives::mpi
