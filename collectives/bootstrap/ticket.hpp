#pragma once

#include <string>
#include <string_view>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/net/endpoint.hpp"

namespace muster::collectives {

/// What a rank needs to enter a job: where its store is, the secret, and which job it is. Handed
/// over on private channels only: the launcher's inherited pipe, or one MPI broadcast.
struct Ticket {
  Endpoint store;
  Secret secret;
  std::string job_id;
};

inline constexpr std::size_t kMaxTicketBytes = 4096;

/// Lines of text: "store ADDRESS\nsecret HEX\njob ID\n".
std::string encode(const Ticket& ticket);

/// Error(config) names the missing or malformed line and `what`, where the text came from.
Ticket decode_ticket(std::string_view text, std::string_view what);

/// A new job's id: 8 random hexadecimal digits.
std::string random_job_id();

}  // namespace muster::collectives
