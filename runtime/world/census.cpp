#include "runtime/world/census.hpp"

#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr std::string_view kRefused = "refused";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    throw Error(ErrorCode::io, "malformed census: a line is missing");
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

int to_number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    throw Error(ErrorCode::io, fmt::format("malformed census: \"{}\" is no number", text));
  }
  return value;
}

std::vector<int> to_numbers(std::string_view text) {
  std::vector<int> values;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    values.push_back(to_number(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return values;
}

std::string encode_member(const Member& member) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", member.rank, member.local_rank, member.host,
                     member.host_id, member.pid, fmt::join(member.cpus, ","));
}

Member take_member(std::string_view& text) {
  Member member;
  member.rank = to_number(take_line(text));
  member.local_rank = to_number(take_line(text));
  member.host = take_line(text);
  member.host_id = take_line(text);
  member.pid = to_number(take_line(text));
  member.cpus = to_numbers(take_line(text));
  return member;
}

std::string describe(const Member& member) {
  return fmt::format("{} (host {}, pid {})", member.rank, member.host, member.pid);
}

}  // namespace

std::string encode(const Arrival& arrival) {
  return fmt::format("{}\n{}\n{}\n{}", arrival.job_id, arrival.build_id, arrival.size,
                     encode_member(arrival.member));
}

Arrival decode_arrival(std::string_view text) {
  Arrival arrival;
  arrival.job_id = take_line(text);
  arrival.build_id = take_line(text);
  arrival.size = to_number(take_line(text));
  arrival.member = take_member(text);
  return arrival;
}

std::string encode(const std::vector<Member>& members) {
  std::string text;
  for (const Member& member : members) text += encode_member(member);
  return text;
}

std::vector<Member> decode_members(std::string_view text) {
  std::vector<Member> members;
  while (!text.empty()) members.push_back(take_member(text));
  return members;
}

std::string encode(const Refusal& refusal) {
  return fmt::format("{}\n{}\n{}", kRefused, static_cast<int>(refusal.code), refusal.reason);
}

std::optional<Refusal> decode_refusal(std::string_view text) {
  if (!text.starts_with(kRefused)) return std::nullopt;
  take_line(text);
  const int code = to_number(take_line(text));
  if (code < 0 || code > static_cast<int>(ErrorCode::internal)) {
    throw Error(ErrorCode::io, fmt::format("malformed census: error code {}", code));
  }
  return Refusal{static_cast<ErrorCode>(code), std::string(text)};
}

Census::Census(std::string job_id, std::string build_id, int size)
    : job_id_(std::move(job_id)),
      build_id_(std::move(build_id)),
      members_(static_cast<std::size_t>(size)) {}

void Census::check(const Arrival& arrival) const {
  const std::string who = describe(arrival.member);
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorCode::config, fmt::format("rank {} cannot join: {}", who, problem));
  };
  if (arrival.job_id != job_id_) {
    refuse(fmt::format("it belongs to job \"{}\", this is job \"{}\"", arrival.job_id, job_id_));
  }
  if (arrival.build_id != build_id_) {
    refuse(
        fmt::format("its muster-rank is build {}, rank 0's is build {}; use the same program on "
                    "every host",
                    arrival.build_id, build_id_));
  }
  if (arrival.size != static_cast<int>(members_.size())) {
    refuse(fmt::format("it was told of {} ranks, rank 0 of {}", arrival.size, members_.size()));
  }
  if (arrival.member.rank < 0 || arrival.member.rank >= static_cast<int>(members_.size())) {
    refuse(fmt::format("ranks go from 0 to {}", members_.size() - 1));
  }
  const Member& there = members_[static_cast<std::size_t>(arrival.member.rank)];
  if (there.pid != 0) {
    refuse(
        fmt::format("that rank is taken by the process on host {}, pid {}", there.host, there.pid));
  }
}

void Census::admit(const Arrival& arrival) {
  check(arrival);
  members_[static_cast<std::size_t>(arrival.member.rank)] = arrival.member;
}

std::string Census::missing() const {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (members_[rank].pid == 0) ranks.push_back(rank);
  }
  return fmt::format("{}", fmt::join(ranks, ", "));
}

std::string Census::joined() const {
  std::vector<std::string> ranks;
  for (const Member& member : members_) {
    if (member.pid != 0) ranks.push_back(describe(member));
  }
  return fmt::format("{}", fmt::join(ranks, ", "));
}

std::vector<Member> Census::members() const {
  std::map<std::string, int> counts;
  std::vector<Member> members = members_;
  for (Member& member : members) {
    MUSTER_ASSERT(member.pid != 0);
    member.local_rank = counts[member.host_id]++;
  }
  return members;
}

}  // namespace muster::runtime
