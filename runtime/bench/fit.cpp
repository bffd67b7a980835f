#include "runtime/bench/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace muster::runtime {
namespace {

/// Sums of weighted least squares with weights 1 / t^2.
struct Sums {
  double w = 0.0;
  double wx = 0.0;
  double wxx = 0.0;
  double wt = 0.0;
  double wxt = 0.0;

  void add(const TimedSize& point) {
    const double weight = 1.0 / (point.seconds * point.seconds);
    w += weight;
    wx += weight * point.bytes;
    wxx += weight * point.bytes * point.bytes;
    wt += weight * point.seconds;
    wxt += weight * point.bytes * point.seconds;
  }
  double determinant() const { return w * wxx - wx * wx; }
};

Sums sums_of(std::span<const TimedSize> points) {
  Sums sums;
  for (const TimedSize& point : points) sums.add(point);
  return sums;
}

void fit_slope(const Sums& sums, LineFit& fit) {
  fit.alpha_s = (sums.wxx * sums.wt - sums.wx * sums.wxt) / sums.determinant();
  fit.beta_s = (sums.w * sums.wxt - sums.wx * sums.wt) / sums.determinant();
}

bool shows_bandwidth(std::span<const TimedSize> points, const LineFit& fit) {
  constexpr int kLeast = 2;
  return fit.beta_s > 0.0 && std::ranges::count_if(points, [&](const TimedSize& point) {
                               return fit.beta_s * point.bytes >= fit.alpha_s;
                             }) >= kLeast;
}

/// Mean of the squared relative errors, by the degrees of freedom; notes the largest.
double variance_of(std::span<const TimedSize> points, int parameters, LineFit& fit) {
  double squares = 0.0;
  for (const TimedSize& point : points) {
    const double relative = (fit.alpha_s + fit.beta_s * point.bytes) / point.seconds - 1.0;
    squares += relative * relative;
    fit.residual_percent = std::max(fit.residual_percent, 100.0 * std::abs(relative));
  }
  return squares / static_cast<double>(fit.points - parameters);
}

}  // namespace

std::optional<LineFit> fit_line(std::span<const TimedSize> all) {
  std::vector<TimedSize> points(all.begin(), all.end());
  std::erase_if(points, [](const TimedSize& point) { return !(point.seconds > 0.0); });
  const Sums sums = sums_of(points);
  const double determinant = sums.determinant();
  if (points.size() < 3 || !(determinant > 1e-12 * sums.w * sums.wxx)) return std::nullopt;
  LineFit fit;
  fit.points = static_cast<int>(points.size());
  fit_slope(sums, fit);
  if (shows_bandwidth(points, fit)) {
    const double variance = variance_of(points, 2, fit);
    fit.alpha_error = 2.0 * std::sqrt(variance * sums.wxx / determinant);
    fit.beta_error = 2.0 * std::sqrt(variance * sums.w / determinant);
  } else {
    fit.alpha_s = sums.wt / sums.w;
    fit.beta_s = 0.0;
    fit.alpha_error = 2.0 * std::sqrt(variance_of(points, 1, fit) / sums.w);
  }
  return fit;
}

std::vector<NamedFit> fit_rows(const std::vector<BenchRow>& rows) {
  using Key = std::tuple<std::string, std::string, std::string, int>;
  std::vector<Key> order;
  std::map<Key, std::vector<TimedSize>> points;
  for (const BenchRow& row : rows) {
    const Key key{row.operation, row.type, row.reduction, row.root};
    std::vector<TimedSize>& list = points[key];
    if (list.empty()) order.push_back(key);
    list.push_back({static_cast<double>(row.bytes), row.out_of_place.time_us * 1e-6});
  }
  std::vector<NamedFit> fits;
  for (const Key& key : order) {
    const auto& [operation, type, reduction, root] = key;
    const std::optional<LineFit> fit = fit_line(points[key]);
    std::string name = type;
    if (reduction != "none") name += " " + reduction;
    if (root >= 0) name += " root " + std::to_string(root);
    if (fit) fits.push_back({operation, name, *fit});
  }
  return fits;
}

}  // namespace muster::runtime
