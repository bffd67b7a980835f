#include "collectives/shm/shm_communicator.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/handshake.hpp"
#include "collectives/shm/private_memory.hpp"
#include "collectives/shm/tuning.hpp"
#include "collectives/signature.hpp"
#include "kernels/devices.hpp"

namespace muster::collectives::shm {
namespace {

void run(Lane& lane, const Call& call) {
  switch (call.kind) {
    case CallKind::all_reduce: return all_reduce(lane, call);
    case CallKind::all_gather: return all_gather(lane, call);
    case CallKind::reduce_scatter: return reduce_scatter(lane, call);
    case CallKind::broadcast: return broadcast(lane, call);
    case CallKind::barrier:
    case CallKind::allocate: return barrier(lane);
    case CallKind::reduce: return reduce(lane, call);
    case CallKind::gather: return gather(lane, call);
    case CallKind::scatter: return scatter(lane, call);
    case CallKind::all_to_all: return all_to_all(lane, call);
    case CallKind::all_gather_v: return all_gather_v(lane, call);
    case CallKind::reduce_scatter_v: return reduce_scatter_v(lane, call);
    case CallKind::all_to_all_v: return all_to_all_v(lane, call);
    case CallKind::send_receive: return send_receive(lane, call);
  }
}

void open(Lane& lane, const Call& call, std::optional<Deadline> deadline) {
  Signature signature(call);
  if (call.kind != CallKind::send_receive) {
    return lane.open(signature, call.options, deadline, may_lead(call) ? kMaxLead : 1);
  }
  signature.count = std::max(call.in.count(), call.out.count());
  lane.open_message(signature, call.options, deadline);
}

// MUSTER_SHM_DIRECT=0 keeps ranks out of each other's private memory.
bool may_reach_private() {
  const char* const chosen = std::getenv("MUSTER_SHM_DIRECT");
  const std::string_view text = chosen == nullptr ? "1" : chosen;
  if (text == "0" || text == "1") return text == "1";
  throw Error(ErrorCode::config, fmt::format("MUSTER_SHM_DIRECT={}: 0 or 1 is expected", text));
}

}  // namespace

/// What a lane needs beside its control lines. The thread is last, so that it ends first.
struct ShmCommunicator::LaneEnd {
  LaneEnd(const Group& group, int number, kernels::Device& shared)
      : device(number == 0 ? nullptr : kernels::open_device("cpu", kernels::DeviceOptions())),
        lane(group, number, number == 0 ? shared : *device) {}

  std::unique_ptr<kernels::Device> device;  // lanes above 0 run beside the caller's own work
  Lane lane;
  std::unique_ptr<LaneWorker> worker;
};

ShmCommunicator::ShmCommunicator(Group group, int cores_per_rank, kernels::Device& device,
                                 Deadline deadline)
    : Communicator(group.name, group.rank, group.size),
      group_(std::move(group)),
      has_threads_(cores_per_rank >= 2),
      device_(device),
      memory_(group_, device) {
  if (rank() == 0) group_.control(0).tuning = default_tuning(size());
  publish_probe(group_);
  memory_.meet(deadline);
  group_.tuning = group_.control(0).tuning;
  agree_on_reach(deadline);
}

// Private memory is reached by all ranks or by none, so that all take one path.
void ShmCommunicator::agree_on_reach(Deadline deadline) {
  const bool is_reached = group_.reaches_private && reaches_all(group_);
  group_.control(rank()).reaches_private.value.store(is_reached ? 1 : 0, std::memory_order_release);
  memory_.meet(deadline);
  group_.reaches_private = true;
  for (int peer = 0; peer < size(); ++peer) {
    if (group_.control(peer).reaches_private.value.load(std::memory_order_acquire) == 0) {
      group_.reaches_private = false;
    }
  }
}

ShmCommunicator::~ShmCommunicator() {
  for (auto& end : lane_ends_) end.reset();  // their threads, before peers are told
  group_.control(rank()).departed.value.store(1, std::memory_order_release);
}

void ShmCommunicator::abort(std::string_view reason) noexcept {
  tell_all(ErrorCode::peer_lost, reason);
}

void ShmCommunicator::abort_mismatch(int /*lane*/, std::string_view text) noexcept {
  tell_all(ErrorCode::invalid_argument, text);
}

void ShmCommunicator::tell_all(ErrorCode code, std::string_view reason) noexcept {
  if (has_reason_.test_and_set()) return;  // the first caller tells everyone
  AbortReason& mine = group_.control(rank()).reason;
  mine.code = code;
  std::copy_n(reason.begin(), std::min(reason.size(), mine.text.size()), mine.text.begin());
  const auto by = static_cast<std::uint64_t>(rank()) + 1;
  for (int peer = 0; peer < size(); ++peer) {
    std::uint64_t nobody = 0;
    group_.control(peer).aborted.value.compare_exchange_strong(nobody, by,
                                                               std::memory_order_acq_rel);
  }
}

Pending ShmCommunicator::do_call(const Call& call) {
  LaneEnd& end = lane_end(call.options.lane);
  if (end.worker != nullptr) return end.worker->enqueue(call);
  execute(end.lane, call, std::nullopt);
  return {};
}

ShmCommunicator::LaneEnd& ShmCommunicator::lane_end(int lane) {
  std::unique_ptr<LaneEnd>& end = lane_ends_[static_cast<std::size_t>(lane)];
  if (end != nullptr) return *end;
  end = std::make_unique<LaneEnd>(group_, lane, device_);
  if (lane > 0 && has_threads_) {
    end->worker =
        std::make_unique<LaneWorker>([this, made = end.get()](const Call& call, Deadline deadline) {
          execute(made->lane, call, deadline);
        });
  }
  return *end;
}

void ShmCommunicator::execute(Lane& lane, const Call& call, std::optional<Deadline> deadline) {
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failure_mutex_);
    throw Error(*failure_);
  }
  try {
    open(lane, call, deadline);
    run(lane, call);
  } catch (const Error& error) {
    fail(error);
    throw;
  }
}

void ShmCommunicator::fail(const Error& error) {
  // Calls that differ are an error on all ranks, also on those that have not met them.
  if (error.code() == ErrorCode::invalid_argument) tell_all(error.code(), error.message());
  const std::scoped_lock lock(failure_mutex_);
  if (!failure_) failure_ = error;
  has_failed_.store(true, std::memory_order_release);
}

std::unique_ptr<Communicator> create_shm_communicator(const GroupSpec& spec, Store& store,
                                                      kernels::Device& device, Deadline deadline) {
  Segments segments = Segments::reserve(spec.size, spec.symmetric_limit);
  const Fd file = create_segment_file(segments.bytes());
  std::vector<Neighbour> neighbours =
      exchange_segments(spec, store, file, segments.bytes(), deadline);

  Group group;
  group.name = spec.name;
  group.shown = shown_names(spec);
  group.rank = spec.rank;
  group.size = spec.size;
  std::vector<pid_t> processes;
  for (std::size_t rank = 0; rank < neighbours.size(); ++rank) {
    segments.shrink(std::min(segments.bytes(), neighbours[rank].bytes));
    group.peers.push_back(
        {neighbours[rank].pid, host_name(spec, static_cast<int>(rank)), spec.hosts[rank]});
    processes.push_back(neighbours[rank].pid);
  }
  for (int rank = 0; rank < spec.size; ++rank) {
    segments.map(rank, rank == spec.rank ? file : neighbours[static_cast<std::size_t>(rank)].file);
  }
  group.segments = std::move(segments);
  group.watch = PeerWatch(processes);
  group.policy = WaitPolicy::of(spec.cores_per_rank);
  group.reaches_private = may_reach_private();
  return std::make_unique<ShmCommunicator>(std::move(group), spec.cores_per_rank, device, deadline);
}

}  // namespace muster::collectives::shm
