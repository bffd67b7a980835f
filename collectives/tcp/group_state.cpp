#include "collectives/tcp/group_state.hpp"

#include <utility>

#include <fmt/format.h>

namespace muster::collectives::tcp {
namespace {

std::string describe_as(int rank, const PeerName& name) {
  return fmt::format("rank {} (pid {}, host {}, {})", rank, name.pid, name.host, name.address);
}

}  // namespace

GroupState::GroupState(std::string name, GroupNames shown, int rank, int size)
    : name_(std::move(name)),
      shown_(std::move(shown)),
      rank_(rank),
      size_(size),
      processes_(static_cast<std::size_t>(size)),
      presences_(static_cast<std::size_t>(size)),
      names_(static_cast<std::size_t>(size)),
      how_lost_(static_cast<std::size_t>(size)) {
  for (std::atomic<Presence>& presence : presences_) presence.store(Presence::here);
}

void GroupState::set_name(int of_rank, PeerName name) {
  const std::lock_guard lock(mutex_);
  PeerName& mine = names_.at(static_cast<std::size_t>(of_rank));
  // The address that the connection really uses is better than the first one offered.
  if (!mine.address.empty()) name.address = std::move(mine.address);
  mine = std::move(name);
}

void GroupState::set_process(int of_rank, pid_t pid, std::string host_id) {
  processes_.at(static_cast<std::size_t>(of_rank)) = {pid, std::move(host_id)};
}

trace::PeerName GroupState::recorded_name(int of_rank) const noexcept {
  const Process& process = processes_[static_cast<std::size_t>(of_rank)];
  return {.rank = of_rank, .pid = process.pid, .host_id = process.host_id};
}

void GroupState::set_address(int of_rank, std::string address) {
  const std::lock_guard lock(mutex_);
  names_.at(static_cast<std::size_t>(of_rank)).address = std::move(address);
}

std::string GroupState::describe(int of_rank) const {
  const std::lock_guard lock(mutex_);
  return describe_as(shown_.rank(of_rank), names_.at(static_cast<std::size_t>(of_rank)));
}

bool GroupState::note_abort(int by, std::string_view reason) {
  {
    const std::lock_guard lock(mutex_);
    if (abort_) return false;
    abort_ = Abort{by, std::string(reason)};
  }
  is_aborted_.store(true, std::memory_order_release);
  wake_all();
  return true;
}

void GroupState::note_left(int peer) {
  presences_[static_cast<std::size_t>(peer)].store(Presence::left, std::memory_order_release);
  wake_all();
}

void GroupState::note_lost(int peer, std::string_view how) {
  if (presence(peer) != Presence::here) return;
  {
    const std::lock_guard lock(mutex_);
    how_lost_[static_cast<std::size_t>(peer)] = how;
  }
  presences_[static_cast<std::size_t>(peer)].store(Presence::lost, std::memory_order_release);
  int nobody = -1;
  first_lost_.compare_exchange_strong(nobody, peer, std::memory_order_acq_rel);
  wake_all();
}

std::optional<GroupState::Abort> GroupState::abort() const {
  const std::lock_guard lock(mutex_);
  return abort_;
}

std::string GroupState::abort_text() const {
  const std::lock_guard lock(mutex_);
  return fmt::format(
      "{} aborted the group: {}",
      describe_as(shown_.rank(abort_->by), names_[static_cast<std::size_t>(abort_->by)]),
      abort_->reason);
}

std::string GroupState::lost_text(int peer) const {
  const auto at = static_cast<std::size_t>(peer);
  const std::lock_guard lock(mutex_);
  return fmt::format("{} has ended: {}", describe_as(shown_.rank(peer), names_[at]), how_lost_[at]);
}

void GroupState::wake_all() noexcept {
  is_troubled_.store(true, std::memory_order_release);
  for (Inbox& inbox : inboxes_) inbox.wake();
}

}  // namespace muster::collectives::tcp
