#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// What every rank says about itself when it joins.
struct Arrival {
  std::string job_id;
  std::string build_id;
  int size = 0;
  Member member;  // local_rank is not known yet
};

std::string encode(const Arrival& arrival);
/// Error(io) when the text is malformed.
Arrival decode_arrival(std::string_view text);

std::string encode(const std::vector<Member>& members);
std::vector<Member> decode_members(std::string_view text);

/// What rank 0 publishes in place of the members when they contradict each other or do not come.
struct Refusal {
  ErrorCode code = ErrorCode::config;
  std::string reason;
};

std::string encode(const Refusal& refusal);
/// nullopt: it is a list of members.
std::optional<Refusal> decode_refusal(std::string_view text);

/// Who has joined so far. Not thread-safe.
class Census {
 public:
  Census(std::string job_id, std::string build_id, int size);

  /// Error(config) names both ranks, hosts and values: two processes with one rank, a rank outside
  /// the world, another size, job or build.
  void admit(const Arrival& arrival);
  /// "1, 3"
  std::string missing() const;
  /// "0 (host a, pid 17), 2 (host b, pid 4)"
  std::string joined() const;
  /// All members in order of rank with their local ranks. Everyone must have been admitted.
  std::vector<Member> members() const;

 private:
  void check(const Arrival& arrival) const;

  std::string job_id_;
  std::string build_id_;
  std::vector<Member> members_;  // [size]; pid 0: not there yet
};

}  // namespace muster::runtime
