#pragma once

namespace muster::collectives {

/// What one link does: a message of b bytes takes alpha_s + b * beta_s_per_byte, and to combine b
/// bytes of one vector with another takes b * gamma_s_per_byte.
struct LinkProfile {
  double alpha_s = 30e-6;
  double beta_s_per_byte = 1.0 / 1.1e9;
  double gamma_s_per_byte = 1.0 / 10e9;

  bool operator==(const LinkProfile&) const = default;
};

}  // namespace muster::collectives
