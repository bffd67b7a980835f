#pragma once

#include <cstdint>

#include "collectives/tcp/fifo.hpp"
#include "collectives/transport/transport.hpp"

namespace muster::collectives::tcp {

/// Which messages of a lane are done. Tickets count from 0.
class TicketBook {
 public:
  Transport::Ticket open() {
    const Transport::Ticket ticket = done_.end();
    done_.push(false);
    return ticket;
  }
  void close(Transport::Ticket ticket) {
    done_.at(ticket) = true;
    while (!done_.is_empty() && done_.at(done_.first())) done_.pop();
  }
  bool is_done(Transport::Ticket ticket) const noexcept {
    return ticket < done_.first() || (done_.has(ticket) && done_.at(ticket));
  }
  bool is_known(Transport::Ticket ticket) const noexcept { return ticket < done_.end(); }
  bool is_all_done() const noexcept { return done_.is_empty(); }

 private:
  Fifo<char> done_;
};

}  // namespace muster::collectives::tcp
