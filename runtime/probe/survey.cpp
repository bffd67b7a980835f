#include "runtime/probe/survey.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "runtime/pairs/pair_rounds.hpp"
#include "runtime/pairs/slow_ends.hpp"
#include "runtime/probe/level_fit.hpp"
#include "runtime/probe/pair_meter.hpp"

namespace muster::runtime {
namespace {

using collectives::Communicator;

constexpr int kMostLocalRounds = 3;  // neighbours, and then further away

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What a first rank tells of one round: the pair's numbers as it sees them.
using Row = std::array<double, 5>;

class Survey {
 public:
  Survey(Communicator& world, std::span<const RankPlace> places, std::vector<ClusterHost> hosts)
      : world_(world), places_(places), leaders_(hosts.size(), -1) {
    cluster_.hosts = std::move(hosts);
    for (int rank = static_cast<int>(places.size()) - 1; rank >= 0; --rank) {
      const RankPlace& place = places[static_cast<std::size_t>(rank)];
      if (place.local_rank == 0) leaders_[static_cast<std::size_t>(place.host)] = rank;
    }
  }

  SurveyResult run(Communicator* local) {
    const Clock::time_point begin = Clock::now();
    measure_inside(local);
    result_.inside_s = seconds_since(begin);
    const auto hosts = static_cast<int>(cluster_.hosts.size());
    if (hosts > 1) {
      PairMeter meter(world_, world_.memory());
      for (const auto& partners : pair_rounds(hosts)) measure_round(meter, partners);
      const std::vector<int> racks = racks_of(cluster_);
      for (int pass = 0; pass < kRecheckPasses; ++pass) {
        const std::array kinds = {bandwidth_costs(cluster_), latency_costs(cluster_)};
        for (const auto& partners : recheck_rounds(kinds, racks, kRecheckRounds, pass > 0)) {
          measure_round(meter, partners);
        }
      }
    }
    cluster_.levels = fit_levels(cluster_);
    cluster_.findings = find_slow(cluster_);
    result_.cluster = std::move(cluster_);
    return std::move(result_);
  }

 private:
  const RankPlace& place() const { return places_[static_cast<std::size_t>(world_.rank())]; }
  bool is_leader() const { return place().local_rank == 0; }
  int leader(int host) const { return leaders_[static_cast<std::size_t>(host)]; }

  // rows[r] of every rank.
  std::vector<Row> exchange(const Row& mine) {
    std::vector<Row> rows(places_.size());
    world_
        .all_gather(vector_view(mine.data(), std::ssize(mine)),
                    vector_view(rows.data()->data(), std::ssize(rows) * std::ssize(mine)),
                    {.label = "probe"})
        .wait();
    return rows;
  }

  // The best pair of every host.
  void measure_inside(Communicator* local) {
    PairTimes best;
    if (local != nullptr) {
      PairMeter meter(*local, local->memory());
      auto rounds = pair_rounds(local->size());
      rounds.resize(std::min<std::size_t>(rounds.size(), kMostLocalRounds));
      for (const auto& partners : rounds) {
        local->barrier({.label = "probe"});
        const int partner = partners[static_cast<std::size_t>(local->rank())];
        if (partner < 0) continue;
        const PairTimes times = meter.measure(partner);
        best.latency_s =
            best.latency_s > 0.0 ? std::min(best.latency_s, times.latency_s) : times.latency_s;
        best.out_bytes_per_s = std::max(best.out_bytes_per_s, times.out_bytes_per_s);
      }
    }
    const std::vector<Row> rows = exchange({best.latency_s, best.out_bytes_per_s});
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      ClusterHost& host = cluster_.hosts[static_cast<std::size_t>(places_[rank].host)];
      const double latency_s = rows[rank][0];
      const double bytes_per_s = rows[rank][1];
      if (latency_s > 0.0 && (host.latency_s == 0.0 || latency_s < host.latency_s)) {
        host.latency_s = latency_s;
      }
      host.bytes_per_s = std::max(host.bytes_per_s, bytes_per_s);
    }
  }

  void measure_round(PairMeter& meter, const std::vector<int>& partners) {
    const auto partner_of = [&](int host) { return partners[static_cast<std::size_t>(host)]; };
    const Clock::time_point begin = Clock::now();
    world_.barrier({.label = "probe"});  // nobody begins while others still use the network
    Row mine{};
    if (is_leader() && partner_of(place().host) >= 0) {
      const PairTimes times = meter.measure(leader(partner_of(place().host)));
      mine = {times.latency_s, times.out_bytes_per_s, times.in_bytes_per_s, times.both_bytes_per_s,
              times.usual_latency_s};
    }
    const std::vector<Row> rows = exchange(mine);
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

  void keep_best(const HostPair& pair) {
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

  Communicator& world_;
  std::span<const RankPlace> places_;
  std::vector<int> leaders_;  // [hosts] the first rank of each
  Cluster cluster_;
  SurveyResult result_;
  std::map<std::pair<int, int>, std::size_t> index_;  // of a pair in cluster_.pairs
};

}  // namespace

SurveyResult survey(Communicator& world, Communicator* local, std::span<const RankPlace> places,
                    std::vector<ClusterHost> hosts) {
  return Survey(world, places, std::move(hosts)).run(local);
}

}  // namespace muster::runtime
