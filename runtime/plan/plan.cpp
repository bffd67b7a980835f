#include "runtime/plan/plan.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

/// Seconds of the ops of one kind and of all others.
struct Split {
  double reduce_s = 0.0;
  double other_s = 0.0;
};

Split price_split(const List& list, const Profile& profile) {
  Split split;
  for (const Op& op : list.ops) {
    const bool is_message = op.kind->cost(list, op).message_bytes > 0.0;
    (is_message ? split.reduce_s : split.other_s) += price(list, op, profile);
  }
  return split;
}

std::string human_bytes(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1.0) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::string Plan::summary() const {
  const std::string ranks =
      data_degree == 1 ? "one rank" : fmt::format("data parallel over {} ranks", data_degree);
  return fmt::format("{}, {} micro-batch{} of {} sequence{} each", ranks, micro_batches,
                     micro_batches == 1 ? "" : "es", micro_batch_rows,
                     micro_batch_rows == 1 ? "" : "s");
}

void price_plan(Plan& plan, const Program& program, const Profile& profile) {
  const Split single = price_split(program.only, profile);
  const Split begin = price_split(program.first, profile);
  const Split middle = price_split(program.middle, profile);
  const Split last = price_split(program.last, profile);
  const auto between = static_cast<double>(std::max<std::int64_t>(plan.micro_batches - 2, 0));
  const bool is_single = plan.micro_batches == 1;
  plan.compute_s =
      is_single ? single.other_s : begin.other_s + between * middle.other_s + last.other_s;
  plan.reduce_s = is_single ? single.reduce_s : last.reduce_s;
  plan.update_s = price(program.norms, profile) + price(program.update, profile);
  plan.arena_bytes = program.arena_bytes();
}

std::string plan_table(const Plan& plan) {
  std::string table = fmt::format("plan: {}\n", plan.summary());
  table += fmt::format("  step     {:>10}   compute {}, gradients {}, update {}\n",
                       human_seconds(plan.step_s()), human_seconds(plan.compute_s),
                       human_seconds(plan.reduce_s), human_seconds(plan.update_s));
  table += fmt::format(
      "  memory   {:>10}   parameters and state {}, arena {} ({} B), peers' gradients {}, other {}",
      human_bytes(static_cast<double>(plan.total_bytes())),
      human_bytes(static_cast<double>(plan.parameter_bytes)),
      human_bytes(static_cast<double>(plan.arena_bytes)), plan.arena_bytes,
      human_bytes(static_cast<double>(plan.peer_bytes)),
      human_bytes(static_cast<double>(plan.other_bytes)));
  return table;
}

std::string probe_table(const Profile& profile, int ranks, double seconds) {
  std::string table = fmt::format("probe: {:.2f} s\n", seconds);
  for (const auto& [dtype, rate] : profile.device.matmul_flops) {
    table += fmt::format("  matmul {:<5} {:>9.0f} GFLOP/s per rank, at this job's shapes\n",
                         to_string(dtype), rate / 1e9);
  }
  table += fmt::format("  memory       {:>9.1f} GB/s per rank", profile.device.memory_bytes / 1e9);
  for (const auto& [bytes, time] : profile.link.all_reduce_s) {
    const double rate = static_cast<double>(bytes) / time * 2.0 * (ranks - 1) / ranks;
    table += fmt::format("\n  all_reduce   {:>9}  {:>10}  {:>7.2f} GB/s bus",
                         human_bytes(static_cast<double>(bytes)), human_seconds(time), rate / 1e9);
  }
  return table;
}

}  // namespace muster::runtime
