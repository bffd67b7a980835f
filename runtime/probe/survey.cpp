#include "runtime/probe/survey.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/base/seconds.hpp"
#include "runtime/pairs/pair_rounds.hpp"
#include "runtime/pairs/slow_ends.hpp"
#include "runtime/probe/level_fit.hpp"

namespace muster::runtime {
namespace {

constexpr int kMostLocalRounds = 3;  // neighbours, and then further away

using Clock = std::chrono::steady_clock;

}  // namespace

Survey::Survey(SurveySite site) : site_(std::move(site)), leaders_(site_.hosts.size(), -1) {
  cluster_.hosts = site_.hosts;
  for (int rank = static_cast<int>(site_.places.size()) - 1; rank >= 0; --rank) {
    const RankPlace& place = site_.places[static_cast<std::size_t>(rank)];
    if (place.local_rank == 0) leaders_[static_cast<std::size_t>(place.host)] = rank;
  }
  if (cluster_.hosts.size() > 1) meter_.emplace(site_.world, site_.world.memory());
}

const Cluster& Survey::check(const std::vector<std::vector<int>>& rounds) {
  measure_inside();
  for (const auto& partners : rounds) measure_round(partners);
  return cluster_;
}

SurveyResult Survey::finish() {
  if (!is_inside_measured_) measure_inside();
  for (const auto& partners : pair_rounds(static_cast<int>(cluster_.hosts.size()))) {
    if (!done_.contains(partners)) measure_round(partners);
  }
  const std::vector<int> racks = racks_of(cluster_);
  for (int pass = 0; pass < kRecheckPasses; ++pass) {
    const std::array kinds = {bandwidth_costs(cluster_), latency_costs(cluster_)};
    for (const auto& partners : recheck_rounds(kinds, racks, kRecheckRounds, pass > 0)) {
      measure_round(partners);
    }
  }
  cluster_.levels = fit_levels(cluster_);
  cluster_.findings = find_slow(cluster_);
  result_.cluster = std::move(cluster_);
  return std::move(result_);
}

const RankPlace& Survey::place() const {
  return site_.places[static_cast<std::size_t>(site_.world.rank())];
}

// rows[r] of every rank.
std::vector<Survey::Row> Survey::exchange(const Row& mine) {
  std::vector<Row> rows(site_.places.size());
  site_.world
      .all_gather(vector_view(mine.data(), std::ssize(mine)),
                  vector_view(rows.data()->data(), std::ssize(rows) * std::ssize(mine)),
                  {.label = "probe"})
      .wait();
  return rows;
}

PairTimes Survey::best_inside() {
  PairTimes best;
  if (site_.local == nullptr) return best;
  collectives::Communicator& local = *site_.local;
  PairMeter meter(local, local.memory());
  auto rounds = pair_rounds(local.size());
  rounds.resize(std::min<std::size_t>(rounds.size(), kMostLocalRounds));
  for (const auto& partners : rounds) {
    local.barrier({.label = "probe"});
    const int partner = partners[static_cast<std::size_t>(local.rank())];
    if (partner < 0) continue;
    const PairTimes times = meter.measure(partner);
    best.latency_s =
        best.latency_s > 0.0 ? std::min(best.latency_s, times.latency_s) : times.latency_s;
    best.out_bytes_per_s = std::max(best.out_bytes_per_s, times.out_bytes_per_s);
  }
  return best;
}

// The best pair of every host.
void Survey::measure_inside() {
  const Clock::time_point begin = Clock::now();
  const PairTimes best = best_inside();
  const std::vector<Row> rows = exchange({best.latency_s, best.out_bytes_per_s});
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    ClusterHost& host = cluster_.hosts[static_cast<std::size_t>(site_.places[rank].host)];
    const double latency_s = rows[rank][0];
    const double bytes_per_s = rows[rank][1];
    if (latency_s > 0.0 && (host.latency_s == 0.0 || latency_s < host.latency_s)) {
      host.latency_s = latency_s;
    }
    host.bytes_per_s = std::max(host.bytes_per_s, bytes_per_s);
  }
  is_inside_measured_ = true;
  result_.inside_s += seconds_since(begin);
}

void Survey::measure_round(const std::vector<int>& partners) {
  const auto partner_of = [&](int host) { return partners[static_cast<std::size_t>(host)]; };
  const Clock::time_point begin = Clock::now();
  site_.world.barrier({.label = "probe"});  // nobody begins while others still use the network
  Row mine{};
  if (place().local_rank == 0 && partner_of(place().host) >= 0) {
    const PairTimes times = meter_->measure(leader(partner_of(place().host)));
    mine = {times.latency_s, times.out_bytes_per_s, times.in_bytes_per_s, times.both_bytes_per_s,
            times.usual_latency_s};
  }
  const std::vector<Row> rows = exchange(mine);
  done_.insert(partners);
  ++result_.rounds;
  result_.round_s = std::max(result_.round_s, seconds_since(begin));
  for (int host = 0; host < static_cast<int>(partners.size()); ++host) {
    if (partner_of(host) <= host) continue;
    const Row& row = rows[static_cast<std::size_t>(leader(host))];
    keep_best({.a = host,
               .b = partner_of(host),
               .latency_s = row[0],
               .usual_latency_s = row[4],
               .ab_bytes_per_s = row[1],
               .ba_bytes_per_s = row[2],
               .both_bytes_per_s = row[3]});
  }
}

void Survey::keep_best(const HostPair& pair) {
  const auto [place, is_new] = index_.emplace(std::pair(pair.a, pair.b), cluster_.pairs.size());
  if (is_new) {
    cluster_.pairs.push_back(pair);
    return;
  }
  HostPair* const known = &cluster_.pairs[place->second];
  if (pair.latency_s < known->latency_s) {
    known->latency_s = pair.latency_s;
    known->usual_latency_s = pair.usual_latency_s;
  }
  known->ab_bytes_per_s = std::max(known->ab_bytes_per_s, pair.ab_bytes_per_s);
  known->ba_bytes_per_s = std::max(known->ba_bytes_per_s, pair.ba_bytes_per_s);
  known->both_bytes_per_s = std::max(known->both_bytes_per_s, pair.both_bytes_per_s);
}

}  // namespace muster::runtime
