#include "collectives/tcp/tcp_transport.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include "collectives/tcp/introduction.hpp"

namespace muster::collectives::tcp {
namespace {

using std::chrono::milliseconds;

// Everything wakes a sleeper but its own deadline and a heartbeat: no need to look often.
constexpr milliseconds kSlice{20};
// A data connection and the control connection of a peer end at nearly the same time; only the
// latter tells whether the peer left in good order.
constexpr milliseconds kVerdictWait{200};

// Messages between two ranks alone are in no sequence.
bool is_in_sequence(const Signature& signature) noexcept {
  return signature.kind() != CallKind::send_receive;
}

}  // namespace

TcpTransport::TcpTransport(GroupState& state, int lane, const WaitPolicy& policy,
                           LaneServices services)
    : state_(state),
      lane_(lane),
      policy_(policy),
      services_(std::move(services)),
      recorded_name_(state.name()),
      links_(static_cast<std::size_t>(state.size())),
      is_busy_(static_cast<std::size_t>(state.size())),
      waits_(state) {
  // Who is waited for first, and when, is chance: no call may be the one that allocates.
  busy_.reserve(links_.size());
  polls_.reserve(1 + links_.size() * kMaxSockets);
}

// Runs what may fail for good: the first error is kept, and the same for later calls.
template <typename Body>
void TcpTransport::guard(Body&& body) {
  if (failure_) throw Error(*failure_);
  try {
    body();
  } catch (const Error& error) {
    failure_.emplace(error);
    throw;
  }
}

void TcpTransport::begin(const Signature& signature, const CallOptions& options,
                         Deadline deadline) {
  signature_ = signature;
  compared_ = compared(signature, options);
  if (is_in_sequence(compared_)) recent_[compared_.sequence() % recent_.size()] = compared_;
  options_ = options;
  deadline_ = deadline;
  begun_ = Clock::now();
  heartbeats_ = state_.heartbeats();
  guard([this] {
    if (state_.is_aborted()) throw_lost(state_.abort_text());
  });
}

Link& TcpTransport::link_to(int peer) {
  if (peer < 0 || peer >= size() || peer == rank()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a message between rank {} and rank {} of {}: it needs two ranks of "
                            "the group",
                            rank(), peer, size()));
  }
  std::unique_ptr<Link>& link = links_[static_cast<std::size_t>(peer)];
  if (link == nullptr) {
    link = std::make_unique<Link>(book_);
    services_.connect(peer);
  }
  if (std::exchange(is_busy_[static_cast<std::size_t>(peer)], 1) == 0) busy_.push_back(peer);
  return *link;
}

Transport::Ticket TcpTransport::send(int to, std::span<const std::byte> data) {
  Link& link = link_to(to);
  const Ticket ticket = book_.open();
  link.post_send(ticket, compared_, data);
  guard([&] { link.push_all(); });
  return ticket;
}

Transport::Ticket TcpTransport::receive(int from, std::span<std::byte> data) {
  Link& link = link_to(from);
  const Ticket ticket = book_.open();
  link.post_receive(ticket, compared_, data);
  return ticket;
}

void TcpTransport::wait(Ticket ticket) {
  if (!book_.is_known(ticket)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("no message has ticket {}", ticket));
  }
  guard([&] { wait_until([&] { return book_.is_done(ticket); }); });
}

void TcpTransport::wait_all() {
  guard([&] { wait_until([&] { return book_.is_all_done(); }); });
}

template <typename IsDone>
void TcpTransport::wait_until(const IsDone& is_done) {
  Patience patience(policy_);
  const NotedWaitScope scope(waits_);
  while (!is_done()) {
    // What has come before the trouble counts, so it is looked for again once trouble is known.
    const auto is_troubled = [this] {
      return state_.is_troubled() || state_.inbox(lane_).has_news();
    };
    if (progress() || (is_troubled() && progress())) {
      patience.renew();
      waits_.end();
      continue;
    }
    if (state_.inbox(lane_).has_news()) check_inbox();
    if (state_.is_troubled()) check_trouble();
    check_ended_links();
    pass_time(patience);
  }
}

bool TcpTransport::progress() {
  if (state_.inbox(lane_).has_news()) take_news();
  bool has_moved = false;
  bool is_any_idle = false;
  for (const int peer : busy_) {
    Link& link = *links_[static_cast<std::size_t>(peer)];
    try {
      has_moved = link.progress() || has_moved;
    } catch (const Mismatch& mismatch) {
      throw_mismatch(peer, mismatch);
    } catch (Error& error) {
      error.add_context(fmt::format("{} receiving from {} in {}", state_.describe(rank()),
                                    state_.describe(peer), describe_call()));
      throw;
    }
    is_any_idle = is_any_idle || link.is_idle();
  }
  if (is_any_idle) {
    std::erase_if(busy_, [this](int peer) {
      const bool is_idle = links_[static_cast<std::size_t>(peer)]->is_idle();
      if (is_idle) is_busy_[static_cast<std::size_t>(peer)] = 0;
      return is_idle;
    });
  }
  return has_moved;
}

void TcpTransport::take_news() {
  Inbox& inbox = state_.inbox(lane_);
  for (Arrival& arrival : inbox.take_arrivals()) {
    std::unique_ptr<Link>& link = links_[static_cast<std::size_t>(arrival.peer)];
    if (link == nullptr) link = std::make_unique<Link>(book_);
    link->add(std::move(arrival));
  }
}

void TcpTransport::check_inbox() {
  const auto failure = state_.inbox(lane_).failure();
  if (!failure) return;
  const bool is_known = failure->sequence != 0 && compared_.sequence() != 0;
  if (!is_known || !is_later(failure->sequence)) throw Error(failure->error);
}

bool TcpTransport::is_later(std::uint32_t sequence) const noexcept {
  return static_cast<std::int32_t>(sequence - compared_.sequence()) > 0;
}

void TcpTransport::pass_time(Patience& patience) {
  const Clock::time_point now = Clock::now();
  const Patience::Advice advice = patience.advise(now);
  check_deadline(now);
  if (advice == Patience::Advice::yield) ::sched_yield();
  if (advice == Patience::Advice::sleep) sleep(now);
}

void TcpTransport::sleep(Clock::time_point now) {
  check_strays();
  note_wait(now);
  Inbox& inbox = state_.inbox(lane_);
  polls_.clear();
  polls_.push_back({inbox.wake_fd(), POLLIN, 0});
  for (const int peer : busy_) links_[static_cast<std::size_t>(peer)]->add_polls(polls_);
  const milliseconds slice = waits_.is_shown() ? kSlice : NotedWaits::kShownAfter;
  // An interruption is as good as a wake.
  ::poll(polls_.data(), polls_.size(), static_cast<int>(slice.count()));
  if (polls_.front().revents != 0) inbox.drain();
}

// A message that has not come says more than one that its receiver does not take.
void TcpTransport::note_wait(Clock::time_point now) {
  if (busy_.empty()) return;
  if (!waits_.is_under_way()) {
    const auto link = [this](int peer) -> const Link& {
      return *links_[static_cast<std::size_t>(peer)];
    };
    const auto sender =
        std::ranges::find_if(busy_, [&](int peer) { return link(peer).awaits_message(); });
    waits_.begin(sender != busy_.end() ? *sender : busy_.front(), now);
  }
  waits_.show_if_long(
      {.signature = signature_, .group = recorded_name_, .label = options_.label, .lane = lane_},
      now);
}

void TcpTransport::check_deadline(Clock::time_point now) {
  const std::uint64_t heartbeats = state_.heartbeats();
  // A rank that waits may wait for the busy one by way of others, so any sign of life counts.
  if (heartbeats != heartbeats_) {
    heartbeats_ = heartbeats;
    deadline_ = std::max(deadline_, deadline_of(options_),
                         [](const Deadline& a, const Deadline& b) { return a.when() < b.when(); });
  }
  if (now >= deadline_.when()) throw_timeout();
}

void TcpTransport::check_trouble() {
  if (state_.is_aborted()) throw_lost(state_.abort_text());
  const int lost = state_.first_lost();
  if (lost >= 0) throw_lost(fmt::format("{}", state_.lost_text(lost)));
  for (const int peer : busy_) {
    const Link& link = *links_[static_cast<std::size_t>(peer)];
    if (state_.presence(peer) != Presence::left) continue;
    // Without a connection nothing can come any more; with one, its end tells.
    if (!link.is_connected() || link.has_ended()) {
      throw_lost(fmt::format("{} has left the group", state_.describe(peer)));
    }
  }
}

void TcpTransport::check_ended_links() {
  const auto ended = std::ranges::find_if(
      busy_, [this](int peer) { return links_[static_cast<std::size_t>(peer)]->has_ended(); });
  if (ended == busy_.end()) return;
  const Clock::time_point now = Clock::now();
  if (!ended_since_) ended_since_ = now;
  if (now - *ended_since_ < kVerdictWait) return;
  throw_lost(fmt::format("{} has closed its data connection", state_.describe(*ended)));
}

std::string TcpTransport::describe_call() const {
  const std::string_view name = options_.label;
  const std::string label = name.empty() ? std::string() : fmt::format(" \"{}\"", name);
  return fmt::format("{}{} (group {}, lane {}, seq {})", to_string(compared_), label,
                     state_.shown().group, lane_, compared_.sequence());
}

std::string TcpTransport::describe_pending() const {
  std::string text;
  for (const int peer : busy_) {
    const Link& link = *links_[static_cast<std::size_t>(peer)];
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", state_.describe(peer),
                        link.describe_missing(), link.is_connected() ? "" : ", not connected");
  }
  return text;
}

std::string TcpTransport::mismatch_text(int peer, const Mismatch& mismatch) const {
  const Frame& theirs = mismatch.theirs;
  const Frame& mine = mismatch.mine;
  const GroupNames& shown = state_.shown();
  if (theirs.signature == mine.signature) {
    return fmt::format("{}: rank {} sends {} bytes, rank {} expects {} (group {}, lane {})",
                       to_string(mine.signature), shown.rank(peer), theirs.length,
                       shown.rank(rank()), mine.length, shown.group, lane_);
  }
  RankedSignature first{shown.rank(rank()), mine.signature};
  RankedSignature second{shown.rank(peer), theirs.signature};
  if (peer < rank()) std::swap(first, second);
  return std::string(signature_mismatch(shown.group, lane_, first, second).message());
}

Mismatch TcpTransport::in_step(const Mismatch& mismatch) const {
  const Signature& theirs = mismatch.theirs.signature;
  const Signature& then = recent_[theirs.sequence() % recent_.size()];
  const bool is_known = then != Signature() && then.sequence() == theirs.sequence();
  Mismatch compared = mismatch;
  if (is_in_sequence(theirs) && is_known) compared.mine.signature = then;
  return compared;
}

void TcpTransport::throw_mismatch(int peer, const Mismatch& found) {
  const Mismatch mismatch = in_step(found);
  const std::string text = mismatch_text(peer, mismatch);
  services_.tell_mismatch(mismatch.mine.signature.sequence(), text);
  throw Error(ErrorCode::invalid_argument, text);
}

void TcpTransport::check_strays() {
  if (!is_in_sequence(compared_)) return;
  for (const int peer : busy_) {
    const auto stray = links_[static_cast<std::size_t>(peer)]->peek_unasked();
    if (!stray || stray->signature == compared_ || !is_in_sequence(stray->signature) ||
        is_later(stray->signature.sequence())) {
      continue;
    }
    Frame mine = *stray;
    mine.signature = compared_;
    throw_mismatch(peer, {*stray, mine});
  }
}

void TcpTransport::throw_lost(const std::string& how) const {
  throw Error(ErrorCode::peer_lost, fmt::format("{}; this rank was in {}", how, describe_call()));
}

void TcpTransport::throw_timeout() const {
  const std::chrono::duration<double> waited = Clock::now() - begun_;
  std::vector<int> awaited;
  for (const int peer : busy_) awaited.push_back(state_.shown().rank(peer));
  throw Error(
      ErrorCode::timeout,
      fmt::format("{} waited {:.1f} s (limit {} s) on {} for {}; not there yet: rank {}; see "
                  "what they are busy with, or raise the limit",
                  describe_call(), waited.count(), options_.timeout_s, state_.describe(rank()),
                  describe_pending(), fmt::join(awaited, ", ")));
}

}  // namespace muster::collectives::tcp
