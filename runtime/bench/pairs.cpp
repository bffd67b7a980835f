#include "runtime/bench/pairs.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "kernels/base/seconds.hpp"
#include "runtime/pairs/pair_rounds.hpp"
#include "runtime/pairs/slow_ends.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSmallBytes = 8;
constexpr std::int64_t kLargeBytes = 1 << 20;
constexpr int kSmallRepeats = 200;
constexpr int kLargeRepeats = 12;

/// What a rank sends from and receives into, in memory that its peers reach, as training's is.
struct PairBuffers {
  Memory out;
  Memory in;
};

/// The least time of an exchange of `bytes` with a partner, after one that does not count.
double least_exchange(collectives::Communicator& group, int partner, std::int64_t bytes,
                      const PairBuffers& buffers, double timeout_s) {
  double least = std::numeric_limits<double>::infinity();
  const int repeats = bytes == kSmallBytes ? kSmallRepeats : kLargeRepeats;
  for (int i = 0; i <= repeats; ++i) {
    const Clock::time_point begin = Clock::now();
    group
        .send_receive({buffers.out.data(), Dtype::u8, 1, bytes}, partner,
                      {buffers.in.data(), Dtype::u8, 1, bytes}, partner,
                      {.label = "pair", .timeout_s = timeout_s})
        .wait();
    if (i > 0) least = std::min(least, seconds_since(begin));
  }
  return least;
}

using Matrix = std::vector<std::vector<double>>;

/// Every rank's row becomes known to all; of the two ends of a pair the slower counts.
Matrix share_rows(collectives::Communicator& group, std::vector<double> row, double timeout_s) {
  const auto n = static_cast<std::size_t>(group.size());
  std::vector<double> all(n * n);
  group
      .all_gather(vector_view(row.data(), std::ssize(row)),
                  vector_view(all.data(), std::ssize(all)), {.timeout_s = timeout_s})
      .wait();
  Matrix matrix(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix[i][j] = std::max(all[i * n + j], all[j * n + i]);
  }
  return matrix;
}

std::string name_of(int rank, const std::vector<Member>& members) {
  return fmt::format("rank {} (host {})", rank, members.at(static_cast<std::size_t>(rank)).host);
}

/// All of a matrix of pairs, as the estimator takes them: all ranks alike.
std::vector<Finding> find_slow_ranks(const Matrix& times) {
  std::vector<PairCost> costs;
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t j = i + 1; j < times.size(); ++j) {
      costs.push_back({static_cast<int>(i), static_cast<int>(j), times[i][j]});
    }
  }
  return find_slow(costs, std::vector<int>(times.size(), 0));
}

void describe(std::string_view what, const Matrix& times, const std::vector<Member>& members,
              std::vector<std::string>& findings) {
  for (const Finding& slow : find_slow_ranks(times)) {
    if (slow.kind == FindingKind::slow_host) {
      findings.push_back(fmt::format("Slow end: {}: {} {:.1f} times the others' at best",
                                     name_of(slow.a, members), what, slow.factor));
    } else {
      findings.push_back(fmt::format("Slow link: {} - {}: {} {:.1f} times the others'",
                                     name_of(slow.a, members), name_of(slow.b, members), what,
                                     slow.factor));
    }
  }
}

}  // namespace

PairMatrix measure_pairs(collectives::Communicator& group, double timeout_s) {
  const auto n = static_cast<std::size_t>(group.size());
  const PairBuffers buffers{group.memory().allocate(kLargeBytes, "pair output"),
                            group.memory().allocate(kLargeBytes, "pair input")};
  std::vector<double> small(n, 0.0);
  std::vector<double> large(n, 0.0);
  for (int round = 0; round < tournament_rounds(group.size()); ++round) {
    group.barrier({.timeout_s = timeout_s});
    const int partner = tournament_partner(group.rank(), round, group.size());
    if (partner < 0) continue;
    const auto with = static_cast<std::size_t>(partner);
    small[with] = least_exchange(group, partner, kSmallBytes, buffers, timeout_s);
    large[with] = least_exchange(group, partner, kLargeBytes, buffers, timeout_s);
  }
  PairMatrix pairs;
  pairs.latency_us = share_rows(group, small, timeout_s);
  pairs.bandwidth = share_rows(group, large, timeout_s);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      pairs.latency_us[i][j] *= 1e6;
      const double seconds = pairs.bandwidth[i][j];
      pairs.bandwidth[i][j] =
          seconds > 0.0 ? static_cast<double>(kLargeBytes) / seconds / 1e9 : 0.0;
    }
  }
  return pairs;
}

std::vector<std::string> describe_pairs(const PairMatrix& pairs,
                                        const std::vector<Member>& members) {
  std::vector<std::string> findings;
  if (members.size() == 2) {
    findings.push_back(fmt::format(
        "Link {} - {}: {:.2f} us, {:.2f} GB/s each way; of two ranks alone the slow end cannot be "
        "told",
        name_of(0, members), name_of(1, members), pairs.latency_us[0][1], pairs.bandwidth[0][1]));
    return findings;
  }
  Matrix seconds = pairs.bandwidth;
  for (std::vector<double>& row : seconds) {
    for (double& value : row) value = value > 0.0 ? 1.0 / value : 0.0;
  }
  describe("8 B takes", pairs.latency_us, members, findings);
  describe("1 MiB takes", seconds, members, findings);
  if (findings.empty()) findings.emplace_back("Pairs: no slow end and no slow link");
  return findings;
}

}  // namespace muster::runtime
