#include "collectives/bootstrap/ticket.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

Ticket make_ticket() {
  Endpoint store{"fd01::1", 29500};
  return {std::move(store), Secret::random(), "1a2b3c4d"};
}

TEST(Ticket, SurvivesEncoding) {
  const Ticket ticket = make_ticket();

  const Ticket again = decode_ticket(encode(ticket), "the pipe");

  EXPECT_EQ(again.store, ticket.store);
  EXPECT_EQ(again.secret.to_hex(), ticket.secret.to_hex());
  EXPECT_EQ(again.job_id, ticket.job_id);
  EXPECT_LT(encode(ticket).size(), kMaxTicketBytes);
}

TEST(Ticket, IsRefusedWithoutAnyOfItsLines) {
  const std::string whole = encode(make_ticket());
  for (const std::string line : {"store", "secret", "job"}) {
    std::string cut = whole;
    const std::size_t at = cut.find(line + " ");
    cut.erase(at, cut.find('\n', at) - at + 1);
    try {
      decode_ticket(cut, "the launcher's pipe");
      FAIL() << "accepted without " << line;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(line), std::string::npos) << text;
      EXPECT_NE(text.find("the launcher's pipe"), std::string::npos) << text;
    }
  }
}

TEST(JobId, IsNewEveryTime) {
  EXPECT_NE(random_job_id(), random_job_id());
}

}  // namespace
}  // namespace muster::collectives
