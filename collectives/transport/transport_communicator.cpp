#include "collectives/transport/transport_communicator.hpp"

#include <algorithm>
#include <utility>

#include "collectives/algorithms/list.hpp"
#include "collectives/lane_worker.hpp"
#include "collectives/signature.hpp"
#include "kernels/devices.hpp"

namespace muster::collectives {
namespace {

// The whole vector of a call, the same on every rank, as AlgorithmTable counts it.
std::size_t whole_bytes(const Call& call, int size) {
  const bool counts_one_share = call.kind == CallKind::all_gather ||
                                call.kind == CallKind::gather || call.kind == CallKind::scatter;
  const std::int64_t count = counts_one_share ? call.count * size : call.count;
  return static_cast<std::size_t>(count) * size_of(call.in.dtype);
}

}  // namespace

/// What a lane needs. The thread is last, so that it ends first.
struct TransportCommunicator::LaneEnd {
  LaneEnd(Fabric& fabric, int number, kernels::Device& shared, bool crosses_hosts)
      : device(number == 0 ? nullptr : kernels::open_device("cpu", kernels::DeviceOptions())),
        transport(fabric.open_lane(number)),
        lane{*transport, number == 0 ? shared : *device, scratch} {
    lane.crosses_hosts = crosses_hosts;
  }

  std::unique_ptr<kernels::Device> device;  // lanes above 0 run beside the caller's own work
  std::unique_ptr<Transport> transport;
  algorithms::Scratch scratch;
  algorithms::Lane lane;
  std::unique_ptr<LaneWorker> worker;
};

TransportCommunicator::TransportCommunicator(const GroupSpec& group, std::unique_ptr<Fabric> fabric,
                                             kernels::Device& device, AlgorithmTable algorithms)
    : Communicator(group.name, group.rank, group.size),
      fabric_(std::move(fabric)),
      has_threads_(group.cores_per_rank >= 2),
      crosses_hosts_(std::ranges::any_of(
          group.hosts, [&](const std::string& host) { return host != group.hosts.front(); })),
      device_(device),
      algorithms_(std::move(algorithms)) {}

TransportCommunicator::~TransportCommunicator() = default;

Pending TransportCommunicator::do_call(const Call& call) {
  LaneEnd& end = lane_end(call.options.lane);
  if (end.worker != nullptr) return end.worker->enqueue(call);
  execute(end, call, deadline_of(call.options));
  return {};
}

TransportCommunicator::LaneEnd& TransportCommunicator::lane_end(int lane) {
  std::unique_ptr<LaneEnd>& end = lane_ends_[static_cast<std::size_t>(lane)];
  if (end != nullptr) return *end;
  end = std::make_unique<LaneEnd>(*fabric_, lane, device_, crosses_hosts_);
  if (lane > 0 && has_threads_) {
    end->worker =
        std::make_unique<LaneWorker>([this, made = end.get()](const Call& call, Deadline deadline) {
          execute(*made, call, deadline);
        });
  }
  return *end;
}

void TransportCommunicator::execute(LaneEnd& end, const Call& call, Deadline deadline) {
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failure_mutex_);
    throw Error(*failure_);
  }
  try {
    end.lane.deadline = deadline;
    end.transport->begin(signature_with_counts(call), call.options, deadline);
    algorithms::perform(algorithms_.choose(call.kind, whole_bytes(call, size()), size()), end.lane,
                        call);
  } catch (const Error& error) {
    fail(error);
    throw;
  }
}

void TransportCommunicator::fail(const Error& error) {
  const std::scoped_lock lock(failure_mutex_);
  if (!failure_) failure_ = error;
  has_failed_.store(true, std::memory_order_release);
}

}  // namespace muster::collectives
