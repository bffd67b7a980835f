#include "runtime/probe/recall.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/seconds.hpp"
#include "runtime/probe/agreement.hpp"
#include "runtime/probe/utc_time.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0's numbers, on all ranks.
template <std::size_t n>
std::array<std::int64_t, n> from_rank_0(collectives::Communicator& world,
                                        std::array<std::int64_t, n> numbers) {
  world.broadcast(vector_view(numbers.data(), std::ssize(numbers)), 0, {.label = "probe"}).wait();
  return numbers;
}

std::optional<ProbeResult> load(const ProbeCache* cache, std::int64_t now_s, std::string& remark) {
  if (cache == nullptr) return std::nullopt;
  try {
    return cache->load(now_s);
  } catch (const Error& error) {
    std::string why = error.what();
    const std::string code = fmt::format("{}: ", to_string(error.code()));
    if (why.starts_with(code)) why.erase(0, code.size());
    std::replace(why.begin(), why.end(), '\n', ' ');  // one line
    remark = fmt::format("the cached probe {} is ignored: {}", cache->path(), why);
    return std::nullopt;
  }
}

}  // namespace

Recall recall_probe(collectives::Communicator& world, Survey& survey, const ProbeCache* cache,
                    std::int64_t now_s) {
  Recall recall;
  const bool is_chief = world.rank() == 0;
  if (is_chief) recall.result = load(cache, now_s, recall.remark);
  const auto [is_there, when] = from_rank_0<2>(world, {recall.result.has_value() ? 1 : 0, now_s});
  if (is_there == 0) return recall;
  const Clock::time_point begin = Clock::now();
  std::optional<Disagreement> disagreement;
  Verdict verdict = Verdict::unclear;
  for (int attempt = 1; verdict == Verdict::unclear; ++attempt) {
    const Cluster& checked = survey.check(check_rounds(survey.hosts(), when));
    recall.links = static_cast<int>(checked.pairs.size());
    if (is_chief) {
      disagreement = find_disagreement(recall.result->cluster, checked);
      verdict = verdict_of(disagreement, attempt, seconds_since(begin));
    }
    verdict = static_cast<Verdict>(from_rank_0<1>(world, {static_cast<std::int64_t>(verdict)})[0]);
  }
  recall.is_valid = verdict == Verdict::agrees;
  if (disagreement) {
    recall.remark = fmt::format("the cached probe of {} no longer holds: {}",
                                utc_text(recall.result->cluster.measured_s), disagreement->text);
    recall.result.reset();
  }
  return recall;
}

}  // namespace muster::runtime
