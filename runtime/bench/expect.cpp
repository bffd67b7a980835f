#include "runtime/bench/expect.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

constexpr double kPairBytes = 1048576.0;  // the large message of the matrix

}  // namespace

LimitingPair limiting_pair(const PairMatrix& pairs) {
  const std::size_t n = pairs.bandwidth.size();
  LimitingPair slowest;
  double least = 0.0;
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::size_t next = (rank + 1) % n;
    const double bandwidth = pairs.bandwidth[rank][next];
    if (rank > 0 && bandwidth >= least) continue;
    least = bandwidth;
    slowest.a = static_cast<int>(std::min(rank, next));
    slowest.b = static_cast<int>(std::max(rank, next));
    slowest.alpha_s = pairs.latency_us[rank][next] * 1e-6;
    const double seconds = kPairBytes / (bandwidth * 1e9);
    slowest.beta_s = std::max(0.0, seconds - slowest.alpha_s) / kPairBytes;
  }
  return slowest;
}

double expected_seconds(std::string_view operation, double bytes, int ranks,
                        const LimitingPair& pair) {
  if (ranks < 2) return 0.0;
  const double alpha = pair.alpha_s;
  const double whole = bytes * pair.beta_s;
  const double others = static_cast<double>(ranks - 1) / ranks * whole;
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  if (operation == "sendrecv") return alpha + whole;
  if (operation == "all_reduce") {
    return std::min(steps * (alpha + whole), 2.0 * steps * alpha + 2.0 * others);
  }
  if (operation == "broadcast" || operation == "reduce") {
    return std::min(steps * (alpha + whole), 2.0 * steps * alpha + whole);
  }
  if (operation == "alltoall" || operation == "alltoallv") {
    return std::min((ranks - 1) * alpha + others, steps * (alpha + whole / 2.0));
  }
  return steps * alpha + others;
}

void add_expectations(BenchReport& report) {
  const LimitingPair pair = limiting_pair(*report.pairs);
  const auto ranks = static_cast<int>(report.devices.size());
  for (BenchRow& row : report.rows) {
    const double expected =
        expected_seconds(row.operation, static_cast<double>(row.bytes), ranks, pair) * 1e6;
    const double reached = std::min(row.out_of_place.time_us, row.in_place.time_us);
    row.expectation = Expectation{
        .time_us = expected, .reached_percent = reached > 0.0 ? 100.0 * expected / reached : 0.0};
  }
  const auto host = [&](int rank) {
    return report.devices.at(static_cast<std::size_t>(rank)).host;
  };
  report.pairs->findings.push_back(fmt::format(
      "Expect: limited by rank {} (host {}) - rank {} (host {}): {:.2f} us and {:.2f} GB/s for "
      "messages between them; more than 100 % is reached where ranks share memory",
      pair.a, host(pair.a), pair.b, host(pair.b), pair.alpha_s * 1e6,
      pair.beta_s > 0.0 ? 1e-9 / pair.beta_s : 0.0));
}

}  // namespace muster::runtime
