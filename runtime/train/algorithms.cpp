#include "runtime/train/algorithms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"
#include "runtime/plan/plan_file.hpp"
#include "runtime/world/agree.hpp"
#include "runtime/world/environment.hpp"

namespace muster::runtime {
namespace {

using collectives::AlgorithmTable;

// What rank 0 tells the others in place of a table where the links are to decide.
constexpr std::string_view kOpen = "open";

AlgorithmDecision named_by(const std::string& who, const std::string& text) {
  if (const auto unknown = AlgorithmTable::find_unknown(text)) {
    throw Error(ErrorCode::config,
                fmt::format("{} = {}: {}", who, quote(text), unknown->describe()));
  }
  AlgorithmDecision decision;
  decision.table.emplace().use(text);
  decision.remark = fmt::format("algorithms: {}, as {} says", decision.table->names(), who);
  decision.is_open = *decision.table == AlgorithmTable();
  return decision;
}

AlgorithmDecision recorded(const JobConfig& config, int world, std::string_view backend) {
  const std::string file = plan_file(config.job.output_dir);
  const std::optional<PlanRecord> record = read_plan_file(config.job.output_dir);
  if (!collectives::has_algorithms(backend)) return {};
  if (!record) return {.table = AlgorithmTable(), .remark = {}, .is_open = true};
  if (record->world != world || record->backend != backend) {
    return {.table = AlgorithmTable(),
            .remark = fmt::format("algorithms: chosen anew, {} is of {} rank{} over {}", file,
                                  record->world, record->world == 1 ? "" : "s", record->backend),
            .is_open = true};
  }
  AlgorithmTable table = AlgorithmTable::parse(record->algorithms);
  std::string remark = fmt::format("algorithms: {}, as recorded in {}", table.names(), file);
  return {.table = std::move(table), .remark = std::move(remark)};
}

}  // namespace

AlgorithmDecision decide_algorithms(const JobConfig& config,
                                    const std::optional<std::string>& environment, int world,
                                    std::string_view backend) {
  const bool has_choice = collectives::has_algorithms(backend);
  if (has_choice && environment) return named_by("MUSTER_ALGO", *environment);
  if (config.comm.algo.empty()) return recorded(config, world, backend);
  if (has_choice) return named_by("comm.algo", config.comm.algo);
  throw Error(ErrorCode::config,
              fmt::format("{}: comm.algo = {}, but the back end {}, which comm.backend = \"{}\" "
                          "leads to here, has no choice of algorithms; {} have",
                          config.file, quote(config.comm.algo), backend, config.comm.backend,
                          fmt::join(collectives::backends_with_algorithms(), " and ")));
}

AlgorithmDecision agree_on_algorithms(const JobConfig& config, World& world,
                                      std::string_view backend) {
  AlgorithmDecision decision;
  const double timeout_s = config.comm.init_timeout_seconds;
  const std::string table = agree(world, "train/algorithms", timeout_s, [&] {
    const auto environment = Environment::current().find("MUSTER_ALGO");
    decision = decide_algorithms(config, environment, world.size, backend);
    if (decision.is_open) return std::string(kOpen);
    return decision.table ? decision.table->to_text() : std::string();
  });
  decision.is_open = table == kOpen;
  if (world.rank == 0) return decision;
  if (decision.is_open) {
    decision.table = AlgorithmTable();
  } else if (!table.empty()) {
    decision.table = AlgorithmTable::parse(table);
  }
  return decision;
}

void decide_by_links(const collectives::LinkProfile& links, AlgorithmDecision& decision) {
  decision.table = AlgorithmTable(links);
  decision.is_open = false;
  decision.remark +=
      fmt::format("{}: the cheapest over links of {:.3g} us and {:.3g} GB/s, as measured",
                  decision.remark.empty() ? "algorithms" : "", links.alpha_s * 1e6,
                  1e-9 / links.beta_s_per_byte);
}

}  // namespace muster::runtime
