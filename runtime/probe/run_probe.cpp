#include "runtime/probe/run_probe.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "runtime/config/file.hpp"
#include "runtime/control/report_file.hpp"
#include "runtime/probe/cluster_file.hpp"
#include "runtime/probe/cluster_report.hpp"
#include "runtime/probe/heat_map.hpp"
#include "runtime/probe/links.hpp"
#include "runtime/probe/racks.hpp"
#include "runtime/probe/survey.hpp"
#include "runtime/world/cores.hpp"
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
    const SurveyResult result =
        survey(*world_group_, local_group_.get(), places_.of_rank, places_.hosts);
    const LinkProfile links = measure_links(*world_group_, kLargestAllReduce, kAllReduceBudgetS);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!is_chief()) return 0;
    const Cluster& cluster = result.cluster;
    reporter_.lines(cluster_report(cluster));
    if (world_.size > 1) reporter_.lines(all_reduce_table(links));
    reporter_.lines(fmt::format(
        "measured in {:.2f} s after the rendezvous: {:.3f} s inside hosts, {} rounds of pairs of "
        "hosts with {:.3f} s at most",
        seconds, result.inside_s, result.rounds, result.round_s));
    if (out_) out_->write(cluster_to_toml(cluster));
    if (html_) html_->write(cluster_html(cluster));
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

  std::string all_reduce_table(const LinkProfile& links) const {
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
};

}  // namespace

int run_probe(World& world, const ProbeOptions& options, Reporter& reporter) {
  const Clock::time_point begin = Clock::now();
  return Run(world, options, reporter).run(begin);
}

}  // namespace muster::runtime
