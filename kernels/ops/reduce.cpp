#include "kernels/ops/reduce.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

constexpr std::size_t kMaxSources = 1024;

/// Whether two contiguous views of one size share bytes. A reduce over a large group compares many
/// pairs, so the check looks at two addresses before it asks what exactly is wrong.
bool touch(const ConstTensorView& a, const ConstTensorView& b) noexcept {
  const auto x = reinterpret_cast<std::uintptr_t>(a.data);
  const auto y = reinterpret_cast<std::uintptr_t>(b.data);
  return (x > y ? x - y : y - x) < a.bytes();
}

void check_reduce(const Check& check, const ReduceArgs& args) {
  check.that(!args.sources.empty() && args.sources.size() <= kMaxSources, [&] {
    return fmt::format("{} sources, but 1 to {} are possible", args.sources.size(), kMaxSources);
  });
  const Argument first{"the first source", args.sources.front()};
  for (const ConstTensorView& view : args.sources) {
    const Argument source{"a source", view};
    check.is_given(source);
    check.is_contiguous(source);
    check.same_shape(source, first);
    check.same_dtype(source, first);
  }
  for (std::size_t i = 0; i < args.destinations.size(); ++i) {
    const Argument destination{"a destination", args.destinations[i]};
    check.is_given(destination);
    check.is_contiguous(destination);
    check.same_shape(destination, first);
    check.same_dtype(destination, first);
    for (const ConstTensorView& view : args.sources) {
      if (!touch(args.destinations[i], view)) continue;
      check.same_or_disjoint(destination, {"a source", view});
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!touch(args.destinations[i], args.destinations[j])) continue;
      check.disjoint(destination, {"another destination", args.destinations[j]});
    }
  }
}

}  // namespace

void reduce(Device& device, const ReduceArgs& args) {
  const Check check("reduce");
  check_reduce(check, args);
  if (args.destinations.empty() || args.sources.front().count() == 0) return;
  check.kernel(device, device.ops().reduce)(device, args);
}

void norm_squared(Device& device, const NormSquaredArgs& args) {
  const Check check("norm_squared");
  const Argument out{"out", args.out};
  const Argument x{"x", args.x};
  check.is_given(out);
  check.is_given(x);
  check.has_dtype(out, Dtype::f64);
  check.has_shape(out, 1, 2);
  check.is_float(x);
  check.disjoint(out, x);
  if (args.x.count() == 0) {
    if (!args.accumulate) fill(device, {args.out, 0.0});
    return;
  }
  check.kernel(device, device.ops().norm_squared)(device, args);
}

}  // namespace muster::kernels
