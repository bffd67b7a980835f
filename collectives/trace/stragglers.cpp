#include "collectives/trace/stragglers.hpp"

#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "collectives/trace/describe.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::trace {
namespace {

constexpr double kNoticeableShare = 0.05;
constexpr double kMoreThanItsOwn = 2.0;

std::string text_of(double seconds) {
  return duration_text(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

std::optional<Straggler> find_straggler(std::span<const double> waited, int ranks,
                                        double within_s) {
  const auto size = static_cast<std::size_t>(ranks);
  MUSTER_ASSERT(waited.size() == size * size);
  Straggler worst;
  for (std::size_t rank = 0; rank < size; ++rank) {
    Straggler candidate{.rank = static_cast<int>(rank)};
    for (std::size_t other = 0; other < size; ++other) {
      if (other == rank) continue;
      candidate.cost_s += waited[other * size + rank] / static_cast<double>(ranks - 1);
      candidate.waited_s += waited[rank * size + other];
    }
    if (candidate.cost_s > worst.cost_s) worst = candidate;
  }
  worst.share = within_s > 0.0 ? worst.cost_s / within_s : 0.0;
  const bool is_noticeable = worst.share > kNoticeableShare;
  if (!is_noticeable || worst.cost_s <= kMoreThanItsOwn * worst.waited_s) return std::nullopt;
  return worst;
}

std::string describe(const Straggler& straggler, const std::string& host) {
  return fmt::format(
      "rank {} (host {}) cost the others {} each, {:.0f} % of the time; it waited {} "
      "itself",
      straggler.rank, host, text_of(straggler.cost_s), straggler.share * 100.0,
      text_of(straggler.waited_s));
}

}  // namespace muster::collectives::trace
