#include "collectives/hierarchy/hierarchical_communicator.hpp"

#include <algorithm>
#include <utility>

#include "collectives/hierarchy/steps.hpp"
#include "kernels/devices.hpp"

namespace muster::collectives {

/// What a lane needs of its own. The thread is last, so that it ends first.
struct HierarchicalCommunicator::LaneEnd {
  LaneEnd(const HostLayout& layout, const HostGroups& groups, int rank, kernels::Device* shared)
      : device(shared != nullptr ? nullptr : kernels::open_device("cpu", kernels::DeviceOptions())),
        steps(layout, groups, rank, shared != nullptr ? *shared : *device) {}

  std::unique_ptr<kernels::Device> device;  // lanes above 0 run beside the caller's own work
  Steps steps;
  std::unique_ptr<LaneWorker> worker;
};

HierarchicalCommunicator::HierarchicalCommunicator(const GroupSpec& group, HostGroups groups,
                                                   kernels::Device& device)
    : Communicator(group.name, group.rank, group.size),
      layout_(group),
      groups_(std::move(groups)),
      device_(device),
      has_threads_(group.cores_per_rank >= 2) {}

HierarchicalCommunicator::~HierarchicalCommunicator() {
  for (auto& end : lane_ends_) end.reset();  // their threads, before the groups go
}

void HierarchicalCommunicator::abort(std::string_view reason) noexcept {
  if (groups_.local != nullptr) groups_.local->abort(reason);
  if (groups_.column != nullptr) groups_.column->abort(reason);
  groups_.flat->abort(reason);
}

void HierarchicalCommunicator::abort_mismatch(int lane, std::string_view text) noexcept {
  if (groups_.local != nullptr) groups_.local->abort_mismatch(lane, text);
  if (groups_.column != nullptr) groups_.column->abort_mismatch(lane, text);
  groups_.flat->abort_mismatch(lane, text);
}

void HierarchicalCommunicator::heartbeat() noexcept {
  if (groups_.local != nullptr) groups_.local->heartbeat();
  if (groups_.column != nullptr) groups_.column->heartbeat();
  groups_.flat->heartbeat();
}

Pending HierarchicalCommunicator::do_call(const Call& call) {
  LaneEnd& end = lane_end(call.options.lane);
  if (end.worker != nullptr) return end.worker->enqueue(call);
  execute(end, call, std::nullopt);
  return {};
}

HierarchicalCommunicator::LaneEnd& HierarchicalCommunicator::lane_end(int lane) {
  std::unique_ptr<LaneEnd>& end = lane_ends_[static_cast<std::size_t>(lane)];
  if (end != nullptr) return *end;
  end = std::make_unique<LaneEnd>(layout_, groups_, rank(), lane == 0 ? &device_ : nullptr);
  if (lane > 0 && has_threads_) {
    end->worker =
        std::make_unique<LaneWorker>([this, made = end.get()](const Call& call, Deadline deadline) {
          execute(*made, call, deadline);
        });
  }
  return *end;
}

void HierarchicalCommunicator::execute(LaneEnd& end, const Call& call,
                                       std::optional<Deadline> deadline) {
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failure_mutex_);
    throw Error(*failure_);
  }
  try {
    end.steps.run(call, deadline.value_or(deadline_of(call.options)));
  } catch (const Error& error) {
    fail(call.options.lane, error);
    throw;
  }
}

void HierarchicalCommunicator::fail(int lane, const Error& error) {
  {
    const std::scoped_lock lock(failure_mutex_);
    if (!failure_) failure_ = error;
  }
  has_failed_.store(true, std::memory_order_release);
  if (error.code() == ErrorCode::invalid_argument) return abort_mismatch(lane, error.message());
  abort(error.what());
}

std::unique_ptr<Communicator> create_hierarchical_communicator(const GroupSpec& group, Store& store,
                                                               kernels::Device& device,
                                                               Deadline deadline) {
  const HostLayout layout(group);
  // Lanes above 0 run on this communicator's threads, never on threads of the groups below.
  GroupSpec inner = group;
  inner.cores_per_rank = std::min(group.cores_per_rank, 1);
  HostGroups groups;
  const auto make = [&](std::string_view backend, const GroupSpec& spec) {
    return create_communicator(backend, spec, store, device, deadline);
  };
  if (layout.ranks_of(layout.host_of(group.rank)).size() > 1) {
    groups.local = make("auto", layout.local_group(inner, group.rank));
  }
  if (layout.local_rank_of(group.rank) < layout.columns()) {
    groups.column = make("tcp", layout.column(inner, group.rank));
  }
  groups.flat = make("tcp", layout.all(inner));
  return std::make_unique<HierarchicalCommunicator>(group, std::move(groups), device);
}

}  // namespace muster::collectives
