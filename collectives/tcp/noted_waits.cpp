#include "collectives/tcp/noted_waits.hpp"

namespace muster::collectives::tcp {

void NotedWaits::show_if_long(const trace::RecordedCall& call, Clock::time_point now) noexcept {
  if (is_shown() || !is_under_way() || now - since_ < kShownAfter) return;
  note_.emplace();
  const std::chrono::duration<double> waited = now - since_;
  note_->show(call, state_.recorded_name(peer_), waited.count());
}

void NotedWaits::count() noexcept {
  note_.reset();
  const int peer = peer_;
  peer_ = -1;
  trace::Recorder* const recorder = trace::Recorder::current();
  if (recorder == nullptr) return;
  std::atomic<std::uint64_t>*& waited = waited_[static_cast<std::size_t>(peer)];
  if (waited == nullptr) waited = recorder->waited_for(state_.recorded_name(peer));
  if (waited == nullptr) return;
  const auto slept = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - since_);
  waited->fetch_add(static_cast<std::uint64_t>(slept.count()), std::memory_order_relaxed);
}

}  // namespace muster::collectives::tcp
