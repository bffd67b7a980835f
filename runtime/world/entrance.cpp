#include "runtime/world/entrance.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/bootstrap/memory_store.hpp"
#include "collectives/bootstrap/tcp_store.hpp"
#include "collectives/bootstrap/tcp_store_server.hpp"
#include "collectives/bootstrap/ticket.hpp"
#include "collectives/net/fd.hpp"
#include "collectives/net/interfaces.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/world/messenger.hpp"

namespace muster::runtime {
namespace {

using collectives::Endpoint;
using collectives::Secret;
using collectives::Ticket;

/// The store as rank 0 sees it when it is the one that serves it.
class ServedStore final : public collectives::Store {
 public:
  ServedStore(const Secret& secret, const collectives::StoreServerOptions& options,
              Deadline deadline)
      : server_(secret, options), client_(server_.endpoint(), secret, deadline) {}

  const Endpoint& endpoint() const noexcept { return server_.endpoint(); }

  void set(std::string_view key, std::string_view value) override { client_.set(key, value); }
  std::string get(std::string_view key, Deadline deadline) override {
    return client_.get(key, deadline);
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    return client_.add(key, delta);
  }

 private:
  collectives::TcpStoreServer server_;
  collectives::TcpStore client_;
};

Entrance enter_alone() {
  return {std::make_unique<collectives::MemoryStore>(), Secret::random(),
          collectives::random_job_id(), false};
}

/// Reads the pipe to its end: the launcher writes the ticket and closes it.
std::string read_ticket_text(int number) {
  const collectives::Fd pipe(number);
  std::string text;
  std::array<char, collectives::kMaxTicketBytes> buffer{};
  while (text.size() <= collectives::kMaxTicketBytes) {
    const ssize_t size = ::read(pipe.number(), buffer.data(), buffer.size());
    if (size == 0) return text;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      throw Error(ErrorCode::config,
                  fmt::format("MUSTER_TICKET_FD is {}, which cannot be read: {}; only the launcher "
                              "sets it",
                              number, collectives::errno_text(errno)));
    }
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  throw Error(ErrorCode::config,
              fmt::format("the pipe MUSTER_TICKET_FD={} holds more than {} bytes", number,
                          collectives::kMaxTicketBytes));
}

Entrance enter_with_ticket(const Identity& identity, Deadline deadline) {
  const std::string text = read_ticket_text(identity.ticket_fd);
  if (text.empty()) throw Error(ErrorCode::peer_lost, "the launcher has ended");
  const Ticket ticket = collectives::decode_ticket(text, "the launcher's pipe");
  return {std::make_unique<collectives::TcpStore>(ticket.store, ticket.secret, deadline),
          ticket.secret, ticket.job_id, false};
}

Entrance enter_by_address(const Identity& identity, Deadline deadline) {
  if (identity.secret_file.empty()) {
    throw Error(ErrorCode::config,
                fmt::format("rank {} of {} (told by {}) has no secret: set MUSTER_SECRET_FILE to a "
                            "file with mode 0600, the same on every rank; make one with: (umask "
                            "077; openssl rand -hex 32 > FILE)",
                            identity.rank, identity.size, identity.origin));
  }
  const Secret secret = Secret::from_file(identity.secret_file);
  if (identity.rank == 0) {
    const collectives::StoreServerOptions options{.listen = identity.store,
                                                  .interfaces = identity.interface};
    return {std::make_unique<ServedStore>(secret, options, deadline), secret, identity.job_id,
            true};
  }
  return {std::make_unique<collectives::TcpStore>(identity.store, secret, deadline), secret,
          identity.job_id, true};
}

/// Where rank 0 listens when nobody named an address: this host only if all ranks are on it.
Endpoint listen_address(const Identity& identity) {
  if (identity.interface.empty() && identity.local_size == identity.size) return {"127.0.0.1", 0};
  const collectives::Interface chosen = collectives::choose_interface(identity.interface);
  log_info(fmt::format("store: interface={} address={} (MUSTER_INTERFACE chooses another)",
                       chosen.name, chosen.address));
  return {chosen.address, 0};
}

Entrance enter_by_messenger(const Identity& identity, const JoinOptions& options,
                            Deadline deadline) {
  auto messenger = open_messenger(identity, options.build_id);
  std::unique_ptr<ServedStore> served;
  std::string text;
  if (identity.rank == 0) {
    const Secret secret = Secret::random();
    const collectives::StoreServerOptions where{.listen = listen_address(identity)};
    served = std::make_unique<ServedStore>(secret, where, deadline);
    text = collectives::encode(Ticket{served->endpoint(), secret, collectives::random_job_id()});
  }
  messenger->broadcast(text);
  if (!options.keep_mpi) {
    messenger->finish();
    messenger.reset();
  }
  const Ticket ticket = collectives::decode_ticket(text, "rank 0's broadcast");
  std::unique_ptr<collectives::Store> store = std::move(served);
  if (store == nullptr) {
    store = std::make_unique<collectives::TcpStore>(ticket.store, ticket.secret, deadline);
  }
  return {std::move(store), ticket.secret, ticket.job_id, true, std::move(messenger)};
}

}  // namespace

Entrance enter(const Identity& identity, const JoinOptions& options, Deadline deadline) {
  switch (identity.entry) {
    case Entry::alone: return enter_alone();
    case Entry::ticket: return enter_with_ticket(identity, deadline);
    case Entry::address: return enter_by_address(identity, deadline);
    case Entry::messenger: return enter_by_messenger(identity, options, deadline);
  }
  throw Error(ErrorCode::internal, "an entry without a case");
}

}  // namespace muster::runtime
