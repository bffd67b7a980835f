#include "runtime/probe/run_probe.hpp"

#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "collectives/backends.hpp"
#include "collectives/net/interfaces.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/seconds.hpp"
#include "kernels/devices.hpp"
#include "runtime/checkpoint/hash.hpp"
#include "runtime/config/file.hpp"
#include "runtime/control/report_file.hpp"
#include "runtime/probe/agreement.hpp"
#include "runtime/probe/cluster_file.hpp"
#include "runtime/probe/cluster_report.hpp"
#include "runtime/probe/heat_map.hpp"
#include "runtime/probe/links.hpp"
#include "runtime/probe/racks.hpp"
#include "runtime/probe/recall.hpp"
#include "runtime/probe/survey.hpp"
#include "runtime/probe/utc_time.hpp"
#include "runtime/world/agree.hpp"
#include "runtime/world/cores.hpp"
#include "runtime/world/environment.hpp"
#include "runtime/world/group.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMaxRacksBytes = 16 << 20;
constexpr double kLargestAllReduce = 4.0 * 1024 * 1024;
constexpr double kAllReduceBudgetS = 0.3;

/// Hosts in the order of their lowest rank, and where each rank is.
struct Places {
  std::vector<RankPlace> of_rank;
  std::vector<ClusterHost> hosts;
};

// Two machines may call themselves the same.
std::string unique_name(const std::string& name, std::set<std::string>& taken) {
  std::string unique = name;
  for (int number = 2; !taken.insert(unique).second; ++number) {
    unique = fmt::format("{}#{}", name, number);
  }
  return unique;
}

Places places_of(const World& world, const std::map<std::string, std::string>& racks) {
  Places places;
  std::map<std::string, int> numbers;
  std::set<std::string> names;
  for (const Member& member : world.members) {
    const auto next = static_cast<int>(places.hosts.size());
    const auto [number, is_new] = numbers.emplace(member.host_id, next);
    if (is_new) {
      const auto rack = racks.find(member.host);
      places.hosts.push_back({.name = unique_name(member.host, names),
                              .rack = rack == racks.end() ? std::string() : rack->second,
                              .ranks = 0});
    }
    ClusterHost& host = places.hosts[static_cast<std::size_t>(number->second)];
    places.of_rank.push_back({.host = number->second, .local_rank = host.ranks++});
  }
  return places;
}

/// Those that rank 0's environment names, on all ranks.
collectives::AlgorithmTable algorithms_of_chief(World& world, double timeout_s) {
  const std::string table = agree(world, "probe/algorithms", timeout_s, [] {
    collectives::AlgorithmTable named;
    named.use(Environment::current().find("MUSTER_ALGO").value_or(""));
    return named.to_text();
  });
  return collectives::AlgorithmTable::parse(table);
}

class Run {
 public:
  Run(World& world, const ProbeOptions& options, Reporter& reporter)
      : world_(world), options_(options), reporter_(reporter) {
    std::map<std::string, std::string> racks;
    if (!options.racks.empty()) {
      racks = parse_racks(read_file(options.racks, kMaxRacksBytes), options.racks);
    }
    places_ = places_of(world, racks);
    if (is_chief() && !options.out.empty()) {
      out_.emplace(options.out, ReportFile::IfThere::replace);
    }
    if (is_chief() && !options.html.empty()) {
      html_.emplace(options.html, ReportFile::IfThere::replace);
    }
    const ThreadChoice threads = threads_for_this_rank(world);
    device_ = kernels::open_device("cpu", {.threads = threads.threads});
    open_groups(threads.cores_per_rank);
  }

  int run(Clock::time_point begin) {
    Survey survey({.world = *world_group_,
                   .local = local_group_.get(),
                   .places = places_.of_rank,
                   .hosts = places_.hosts});
    const std::int64_t now_s = std::time(nullptr);
    open_cache();
    Recall recall;
    if (world_.size > 1) {
      // Whether all is measured anew is rank 0's to say.
      const bool looks = cache_ && !options_.is_fresh;
      recall = recall_probe(*world_group_, survey, looks ? &*cache_ : nullptr, now_s);
    }
    if (!recall.remark.empty()) reporter_.lines(recall.remark);
    if (recall.is_valid) {
      if (is_chief()) report_recalled(recall, seconds_since(begin));
      return 0;
    }
    const SurveyResult found = survey.finish();
    const LinkProfile links = measure_links(*world_group_, kLargestAllReduce, kAllReduceBudgetS);
    if (!is_chief()) return 0;
    ProbeResult result{.cluster = found.cluster, .all_reduce_s = links.all_reduce_s};
    result.cluster.measured_s = now_s;
    report(result);
    reporter_.lines(fmt::format(
        "measured at {}\nmeasured in {:.2f} s after the rendezvous: {:.3f} s inside hosts, {} "
        "rounds of pairs of hosts with {:.3f} s at most",
        utc_text(now_s), seconds_since(begin), found.inside_s, found.rounds, found.round_s));
    keep(result);
    return 0;
  }

 private:
  bool is_chief() const { return world_.rank == 0; }

  std::unique_ptr<collectives::Communicator> open(const collectives::GroupSpec& spec) {
    return collectives::create_communicator(options_.backend, spec, *world_.store, *device_,
                                            Deadline::after_seconds(options_.timeout_s));
  }

  void open_groups(int cores_per_rank) {
    collectives::GroupSpec spec = world_group(world_, "probe", cores_per_rank);
    spec.algorithms = algorithms_of_chief(world_, options_.timeout_s);
    world_group_ = open(spec);
    const RankPlace& place = places_.of_rank[static_cast<std::size_t>(world_.rank)];
    const int local_size = places_.hosts[static_cast<std::size_t>(place.host)].ranks;
    if (local_size == 1) return;
    std::vector<int> neighbours;
    for (int rank = 0; rank < world_.size; ++rank) {
      const RankPlace& other = places_.of_rank[static_cast<std::size_t>(rank)];
      if (other.host == place.host) neighbours.push_back(rank);
    }
    spec = collectives::subgroup(spec, fmt::format("probe.inside{}", place.host), neighbours);
    local_group_ = open(spec);
  }

  // What a host's network is known by: the addresses of its interfaces, and what chooses among
  // them.
  std::string network_of_this_host() const {
    struct utsname system {};
    ::uname(&system);
    std::string text = fmt::format("{} {}", system.release,
                                   Environment::current().find_or("MUSTER_INTERFACE", ""));
    for (const collectives::Interface& interface : collectives::list_interfaces()) {
      text += fmt::format(" {} {}", interface.name, interface.address);
    }
    return hash_of(text);
  }

  // Collective; the cache itself is rank 0's.
  void open_cache() {
    if (world_.size == 1) return;
    constexpr std::size_t kDigits = 16;
    const std::string mine = network_of_this_host();
    std::string all(places_.of_rank.size() * kDigits, ' ');
    world_group_
        ->all_gather({reinterpret_cast<const std::byte*>(mine.data()), Dtype::u8, 1, kDigits},
                     {reinterpret_cast<std::byte*>(all.data()), Dtype::u8, 1, std::ssize(all)},
                     {.label = "probe"})
        .wait();
    if (!is_chief()) return;
    const std::string folder = cache_folder(Environment::current());
    if (folder.empty()) {
      reporter_.lines(
          "the probe is not cached: neither XDG_CACHE_HOME nor HOME is an absolute path");
      return;
    }
    ProbeKey key{.backend = std::string(world_group_->backend()), .hosts = places_.hosts};
    key.interfaces.resize(places_.hosts.size());
    for (std::size_t rank = 0; rank < places_.of_rank.size(); ++rank) {
      const RankPlace& place = places_.of_rank[rank];
      key.host_of_rank.push_back(place.host);
      if (place.local_rank == 0) {
        key.interfaces[static_cast<std::size_t>(place.host)] = all.substr(rank * kDigits, kDigits);
      }
    }
    cache_.emplace(folder, std::move(key));
  }

  void keep(const ProbeResult& result) {
    if (!cache_) return;
    try {
      cache_->save(result);
    } catch (const Error& error) {
      reporter_.lines(fmt::format("the probe is not cached: {}", error.what()));
    }
  }

  void report(const ProbeResult& result) {
    reporter_.lines(cluster_report(result.cluster));
    if (world_.size > 1) reporter_.lines(all_reduce_table(result));
    if (out_) out_->write(cluster_to_toml(result.cluster));
    if (html_) html_->write(cluster_html(result.cluster));
  }

  void report_recalled(const Recall& recall, double seconds) {
    report(*recall.result);
    const std::string checked =
        recall.links == 0 ? "the inside of the host agrees"
                          : fmt::format("{} pair{} of hosts and the inside of hosts agree",
                                        recall.links, recall.links == 1 ? "" : "s");
    reporter_.lines(fmt::format(
        "measured at {}, re-validated in {:.2f} s after the rendezvous: {} within {:.0f} % of "
        "bandwidth; --fresh measures all",
        utc_text(recall.result->cluster.measured_s), seconds, checked,
        100.0 * kBandwidthTolerance));
  }

  std::string all_reduce_table(const ProbeResult& links) const {
    std::string text = fmt::format("all_reduce of all {} ranks ({})\n{:>10}  {:>10}  {:>10}\n",
                                   world_.size, world_group_->backend(), "bytes", "time", "algbw");
    for (const auto& [bytes, seconds] : links.all_reduce_s) {
      text += fmt::format("{:>10}  {:>10}  {:>10}\n", bytes, time_text(seconds),
                          rate_text(static_cast<double>(bytes) / seconds));
    }
    return text;
  }

  World& world_;
  const ProbeOptions& options_;
  Reporter& reporter_;
  Places places_;
  std::optional<ReportFile> out_;
  std::optional<ReportFile> html_;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<collectives::Communicator> world_group_;
  std::unique_ptr<collectives::Communicator> local_group_;
  std::optional<ProbeCache> cache_;  // of rank 0
};

}  // namespace

int run_probe(World& world, const ProbeOptions& options, Reporter& reporter) {
  const Clock::time_point begin = Clock::now();
  return Run(world, options, reporter).run(begin);
}

}  // namespace muster::runtime
