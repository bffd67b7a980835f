#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {

/// How fast a device does things: what the probe measured, or a file says.
struct DeviceProfile {
  std::map<Dtype, double> matmul_flops;      // per second and rank, by dtype of the operands
  double memory_bytes = 0.0;                 // per second and rank, read + written
  std::map<std::string, double> op_seconds;  // measured ops, by op_key(); they take precedence
};

/// How fast a group of ranks sums a message: alpha + beta * bytes, or the measured curve.
struct LinkProfile {
  double alpha_s = 0.0;
  double beta_s_per_byte = 0.0;
  std::map<std::int64_t, double> all_reduce_s;  // measured: message bytes -> seconds
};

struct Profile {
  DeviceProfile device;
  LinkProfile link;
};

/// Names what decides an op's time: kind, shapes, dtypes and attributes of its operands.
std::string op_key(const List& list, const Op& op);

/// Predicted seconds of one op.
double price(const List& list, const Op& op, const Profile& profile);
/// Predicted seconds of a list: the sum of its ops.
double price(const List& list, const Profile& profile);

/// Seconds of an all_reduce of `bytes`: interpolated between measured sizes, else alpha and beta.
double all_reduce_seconds(const LinkProfile& link, double bytes);

}  // namespace muster::runtime
