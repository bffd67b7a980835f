#include "collectives/tcp/tcp_fabric.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/net/interfaces.hpp"
#include "collectives/tcp/door.hpp"
#include "collectives/tcp/introduction.hpp"
#include "collectives/tcp/tcp_transport.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives::tcp {
namespace {

constexpr std::int64_t kHeartbeatPauseMs = 10;  // more often would tell nobody more

std::string key_of(const GroupSpec& group, int rank) {
  return fmt::format("comm/{}/{}/tcp", group.name, rank);
}

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "?";
  return name.data();
}

std::vector<std::string> choose_addresses(const GroupSpec& group, const TcpOptions& options) {
  const bool is_one_host = std::ranges::all_of(
      group.hosts, [&](const std::string& host) { return host == group.hosts.front(); });
  std::vector<std::string> addresses;
  for (const Interface& chosen : choose_doors(options.interfaces, is_one_host, list_interfaces())) {
    const std::string text =
        fmt::format("tcp: group={} interface={} address={} (MUSTER_INTERFACE chooses others)",
                    group.name, chosen.name, chosen.address);
    is_one_host ? log_debug(text) : log_info(text);
    addresses.push_back(chosen.address);
  }
  return addresses;
}

Service::Setup make_setup(const GroupSpec& group, GroupState& state, const TcpOptions& options) {
  if (!group.secret) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("group {}: the tcp back end needs the job's secret, and the group was "
                            "made without",
                            group.name));
  }
  return {.state = state,
          .secret = *group.secret,
          .encrypts = options.encrypts,
          .addresses = choose_addresses(group, options),
          .sockets = std::clamp(options.sockets, 1, kMaxSockets),
          .most_strangers = options.most_strangers,
          .handshake_limit_s = options.handshake_limit_s};
}

// A rank that sends in the clear what another takes for sealed would look like an attack.
void check_agreement(const GroupState& state, int peer, bool encrypts, bool we_encrypt) {
  if (encrypts == we_encrypt) return;
  const auto [one, other] =
      encrypts ? std::pair(peer, state.rank()) : std::pair(state.rank(), peer);
  throw Error(ErrorCode::config,
              fmt::format("group {}: {} encrypts its tcp connections (MUSTER_TCP_ENCRYPT=1), {} "
                          "does not; set it alike on all ranks",
                          state.name(), state.describe(one), state.describe(other)));
}

bool encrypts_by_environment(bool otherwise) {
  const char* const value = std::getenv("MUSTER_TCP_ENCRYPT");
  if (value == nullptr) return otherwise;
  const std::string_view text = value;
  if (text == "0" || text == "1") return text == "1";
  throw Error(
      ErrorCode::config,
      fmt::format("MUSTER_TCP_ENCRYPT is \"{}\": 1 encrypts the connections of the tcp back "
                  "end, 0 does not",
                  text));
}

}  // namespace

TcpOptions TcpOptions::from_environment(bool encrypts) {
  TcpOptions options;
  options.encrypts = encrypts_by_environment(encrypts);
  if (const char* const interfaces = std::getenv("MUSTER_INTERFACE")) {
    options.interfaces = interfaces;
  }
  const char* const sockets = std::getenv("MUSTER_TCP_SOCKETS");
  if (sockets == nullptr) return options;
  const std::string_view text = sockets;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, options.sockets);
  if (error != std::errc() || stop != end || options.sockets < 1 || options.sockets > kMaxSockets) {
    throw Error(ErrorCode::config,
                fmt::format("MUSTER_TCP_SOCKETS is \"{}\": the number of data connections between "
                            "two ranks is from 1 to {}",
                            text, kMaxSockets));
  }
  return options;
}

TcpFabric::TcpFabric(const GroupSpec& group, Store& store, const TcpOptions& options,
                     Deadline deadline)
    : state_(group.name, shown_names(group), group.rank, group.size),
      policy_(WaitPolicy::of(group.cores_per_rank)),
      service_(make_setup(group, state_, options)) {
  const Door mine{::getpid(), this_host(), service_.endpoints(), options.encrypts};
  store.set(key_of(group, group.rank), encode(mine));
  state_.set_name(group.rank, {mine.pid, mine.host, mine.endpoints.front().host});
  // Those we call come first: they may call others meanwhile.
  for (int i = 1; i < group.size; ++i) {
    const int peer = (group.rank + i) % group.size;
    const Door door = decode_door(store.get(key_of(group, peer), deadline),
                                  fmt::format("rank {} of group {}", peer, group.name));
    state_.set_name(peer, {door.pid, door.host, door.endpoints.front().host});
    state_.set_process(peer, door.pid, group.hosts[static_cast<std::size_t>(peer)]);
    check_agreement(state_, peer, door.is_encrypted, options.encrypts);
    if (peer > group.rank) service_.call(peer, door.endpoints);
  }
  service_.await_everyone(deadline);
}

std::unique_ptr<Transport> TcpFabric::open_lane(int lane) {
  if (lane < 0 || lane >= Communicator::kMaxLanes ||
      is_open_[static_cast<std::size_t>(lane)].exchange(true)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("lane {} of group {}: lanes are numbered from 0 to {} and opened once",
                            lane, state_.name(), Communicator::kMaxLanes - 1));
  }
  LaneServices services{.connect = [this, lane](int peer) { service_.connect(peer, lane); },
                        .tell_mismatch =
                            [this, lane](std::uint32_t sequence, const std::string& text) {
                              service_.tell_mismatch({ControlKind::mismatch, lane, text, sequence});
                            }};
  return std::make_unique<TcpTransport>(state_, lane, policy_, std::move(services));
}

void TcpFabric::abort(std::string_view reason) noexcept {
  try {
    if (!state_.note_abort(state_.rank(), reason)) return;
    service_.tell_everyone(
        {ControlKind::abort, 0, std::string(reason), static_cast<std::uint32_t>(state_.rank())});
  } catch (const std::exception& error) {
    log_error(
        fmt::format("tcp: abort of group {} not sent: reason=\"{}\"", state_.name(), error.what()));
  }
}

void TcpFabric::abort_mismatch(int lane, std::string_view text) noexcept {
  constexpr std::uint32_t kAtOnce = 0;
  try {
    service_.tell_mismatch({ControlKind::mismatch, lane, std::string(text), kAtOnce});
  } catch (const std::exception& error) {
    log_error(fmt::format("tcp: mismatch in group {} not told: reason=\"{}\"", state_.name(),
                          error.what()));
  }
}

void TcpFabric::heartbeat() noexcept {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(
                               Deadline::Clock::now().time_since_epoch())
                               .count();
  std::int64_t last = last_heartbeat_ms_.load(std::memory_order_relaxed);
  if (now - last < kHeartbeatPauseMs) return;
  if (!last_heartbeat_ms_.compare_exchange_strong(last, now)) return;
  try {
    service_.tell_everyone({ControlKind::heartbeat});
  } catch (const std::exception& error) {
    log_debug(fmt::format("tcp: heartbeat not sent: reason=\"{}\"", error.what()));
  }
}

}  // namespace muster::collectives::tcp
