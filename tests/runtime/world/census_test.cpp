#include "runtime/world/census.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

Arrival arrival_of(int rank, const std::string& host_id = "h1") {
  Arrival arrival{"job7", "build9", 3, {}};
  arrival.member.rank = rank;
  arrival.member.host = "name-of-" + host_id;
  arrival.member.host_id = host_id;
  arrival.member.pid = 100 + rank;
  arrival.member.cpus = {0, 1, 5};
  return arrival;
}

std::string refusal(Arrival second) {
  Census census("job7", "build9", 3);
  census.admit(arrival_of(1));
  return error_text(ErrorCode::config, [&] { census.admit(second); });
}

TEST(Arrival, SurvivesEncoding) {
  const Arrival sent = arrival_of(2, "boot.1.2.3");

  const Arrival received = decode_arrival(encode(sent));

  EXPECT_EQ(received.job_id, "job7");
  EXPECT_EQ(received.build_id, "build9");
  EXPECT_EQ(received.size, 3);
  EXPECT_EQ(received.member.rank, 2);
  EXPECT_EQ(received.member.host, "name-of-boot.1.2.3");
  EXPECT_EQ(received.member.host_id, "boot.1.2.3");
  EXPECT_EQ(received.member.pid, 102);
  EXPECT_EQ(received.member.cpus, (std::vector<int>{0, 1, 5}));
}

TEST(Arrival, IsRefusedWhenMalformed) {
  const std::string whole = encode(arrival_of(0));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode_arrival(whole.substr(0, size)), Error) << size << " bytes";
  }
}

TEST(Census, NumbersTheRanksOfEveryHost) {
  Census census("job7", "build9", 3);
  census.admit(arrival_of(2, "h1"));
  census.admit(arrival_of(0, "h1"));
  census.admit(arrival_of(1, "h2"));

  const std::vector<Member> members = decode_members(encode(census.members()));

  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].rank, 0);
  EXPECT_EQ(members[0].local_rank, 0);
  EXPECT_EQ(members[1].local_rank, 0);
  EXPECT_EQ(members[2].local_rank, 1);
  EXPECT_EQ(members[2].host_id, "h1");
}

TEST(Census, SaysWhoIsThereAndWhoIsMissing) {
  Census census("job7", "build9", 3);
  census.admit(arrival_of(1));

  EXPECT_EQ(census.missing(), "0, 2");
  EXPECT_EQ(census.joined(), "1 (host name-of-h1, pid 101)");
}

TEST(Census, RefusesARankThatIsTaken) {
  const std::string text = refusal(arrival_of(1, "h2"));

  EXPECT_NE(text.find("rank 1 (host name-of-h2"), std::string::npos) << text;
  EXPECT_NE(text.find("host name-of-h1, pid 101"), std::string::npos) << text;
}

TEST(Census, RefusesARankOutsideTheWorld) {
  EXPECT_NE(refusal(arrival_of(3)).find("0 to 2"), std::string::npos);
  EXPECT_NE(refusal(arrival_of(-1)).find("0 to 2"), std::string::npos);
}

TEST(Census, RefusesAnotherSizeJobOrBuild) {
  Arrival size = arrival_of(2);
  size.size = 4;
  Arrival job = arrival_of(2);
  job.job_id = "job8";
  Arrival build = arrival_of(2);
  build.build_id = "build10";

  EXPECT_NE(refusal(size).find("told of 4 ranks, rank 0 of 3"), std::string::npos);
  EXPECT_NE(refusal(job).find("job \"job8\", this is job \"job7\""), std::string::npos);
  EXPECT_NE(refusal(build).find("build build10, rank 0's is build build9"), std::string::npos);
}

TEST(Refusal, IsToldFromATableOfMembers) {
  const auto refused = decode_refusal(encode(Refusal{ErrorCode::timeout, "line 1\nline 2"}));

  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::timeout);
  EXPECT_EQ(refused->reason, "line 1\nline 2");
  EXPECT_FALSE(decode_refusal(encode(std::vector<Member>{Member{}})).has_value());
}

}  // namespace
}  // namespace muster::runtime
