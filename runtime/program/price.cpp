#include "runtime/program/price.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

/// The dtype that decides how fast an op computes: that of its first input.
Dtype compute_dtype(const List& list, const Op& op) {
  return list.value(op.inputs[0]).dtype;
}

double flops_rate(const DeviceProfile& device, Dtype dtype) {
  const auto known = device.matmul_flops.find(dtype);
  if (known != device.matmul_flops.end()) return known->second;
  return device.matmul_flops.empty() ? 0.0 : device.matmul_flops.begin()->second;
}

void append_operand(std::string& key, const List& list, ValueId id) {
  if (id == kNone) {
    key += " -";
    return;
  }
  const Value& value = list.value(id);
  key += fmt::format(" {}[{},{}]", to_string(value.dtype), value.rows, value.cols);
}

}  // namespace

std::string op_key(const List& list, const Op& op) {
  std::string key(op.kind->name());
  for (const ValueId id : op.inputs) append_operand(key, list, id);
  key += " ->";
  for (const ValueId id : op.outputs) append_operand(key, list, id);
  for (const auto& [name, value] : op.attributes.items()) key += fmt::format(" {}={}", name, value);
  return key;
}

double all_reduce_seconds(const LinkProfile& link, double bytes) {
  if (link.all_reduce_s.empty()) return link.alpha_s + bytes * link.beta_s_per_byte;
  const auto above = link.all_reduce_s.lower_bound(static_cast<std::int64_t>(bytes));
  if (above == link.all_reduce_s.end()) {
    const auto& [largest, seconds] = *std::prev(above);
    return seconds + (bytes - static_cast<double>(largest)) * link.beta_s_per_byte;
  }
  if (above == link.all_reduce_s.begin()) return above->second;
  const auto& [size0, seconds0] = *std::prev(above);
  const auto& [size1, seconds1] = *above;
  const double part = (std::log(bytes) - std::log(static_cast<double>(size0))) /
                      (std::log(static_cast<double>(size1)) - std::log(static_cast<double>(size0)));
  return std::exp((1.0 - part) * std::log(seconds0) + part * std::log(seconds1));
}

double price(const List& list, const Op& op, const Profile& profile) {
  const auto measured = profile.device.op_seconds.find(op_key(list, op));
  if (measured != profile.device.op_seconds.end()) return measured->second;
  const Cost cost = op.kind->cost(list, op);
  if (cost.message_bytes > 0.0) return all_reduce_seconds(profile.link, cost.message_bytes);
  const double rate = flops_rate(profile.device, compute_dtype(list, op));
  const double compute = rate > 0.0 ? cost.flops / rate : 0.0;
  const double memory =
      profile.device.memory_bytes > 0.0 ? cost.bytes / profile.device.memory_bytes : 0.0;
  return std::max(compute, memory);
}

double price(const List& list, const Profile& profile) {
  double seconds = 0.0;
  for (const Op& op : list.ops) seconds += price(list, op, profile);
  return seconds;
}

}  // namespace muster::runtime
