#include "tests/support/reference_layers.hpp"

#include <cmath>

namespace muster::test::reference {
namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

Expected rms_norm_rstd(const Expected& x, double eps) {
  return make_expected(1, x.rows, [&](std::int64_t, std::int64_t r) {
    double squares = 0.0;
    for (std::int64_t c = 0; c < x.cols; ++c) squares += x.at(r, c) * x.at(r, c);
    return 1.0 / std::sqrt(squares / static_cast<double>(x.cols) + eps);
  });
}

Expected rms_norm(const Expected& x, const Expected& gain, double eps) {
  const Expected rstd = rms_norm_rstd(x, eps);
  return make_expected(x.rows, x.cols, [&](std::int64_t r, std::int64_t c) {
    return x.at(r, c) * rstd.at(0, r) * gain.at(0, c);
  });
}

RmsNormGradients rms_norm_backward(const Expected& dy, const Expected& x, const Expected& gain,
                                   const Expected& rstd) {
  const auto xhat = [&](std::int64_t r, std::int64_t c) { return x.at(r, c) * rstd.at(0, r); };
  const Expected means = make_expected(1, x.rows, [&](std::int64_t, std::int64_t r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < x.cols; ++c) sum += dy.at(r, c) * gain.at(0, c) * xhat(r, c);
    return sum / static_cast<double>(x.cols);
  });
  return {make_expected(x.rows, x.cols,
                        [&](std::int64_t r, std::int64_t c) {
                          return rstd.at(0, r) *
                                 (dy.at(r, c) * gain.at(0, c) - xhat(r, c) * means.at(0, r));
                        }),
          make_expected(1, x.cols, [&](std::int64_t, std::int64_t c) {
            double sum = 0.0;
            for (std::int64_t r = 0; r < x.rows; ++r) sum += dy.at(r, c) * xhat(r, c);
            return sum;
          })};
}

Expected rope(const Expected& x, const Expected& angles, std::int64_t head_dim) {
  return make_expected(x.rows, x.cols, [&](std::int64_t t, std::int64_t c) {
    const std::int64_t half = head_dim / 2;
    const std::int64_t in_head = c % head_dim;
    const double angle = angles.at(t, in_head % half);
    const double partner = in_head < half ? -x.at(t, c + half) : x.at(t, c - half);
    return x.at(t, c) * std::cos(angle) + partner * std::sin(angle);
  });
}

Expected swiglu(const Expected& gate, const Expected& up) {
  return make_expected(gate.rows, gate.cols, [&](std::int64_t r, std::int64_t c) {
    return gate.at(r, c) * sigmoid(gate.at(r, c)) * up.at(r, c);
  });
}

SwigluGradients swiglu_backward(const Expected& dh, const Expected& gate, const Expected& up) {
  return {make_expected(dh.rows, dh.cols,
                        [&](std::int64_t r, std::int64_t c) {
                          const double z = gate.at(r, c);
                          const double s = sigmoid(z);
                          return dh.at(r, c) * up.at(r, c) * s * (1.0 + z * (1.0 - s));
                        }),
          make_expected(dh.rows, dh.cols, [&](std::int64_t r, std::int64_t c) {
            return dh.at(r, c) * gate.at(r, c) * sigmoid(gate.at(r, c));
          })};
}

Expected embedding_backward(const Expected& table, const Expected& dy,
                            const std::vector<std::int32_t>& tokens) {
  return make_expected(table.rows, table.cols, [&](std::int64_t r, std::int64_t c) {
    double sum = table.at(r, c);
    for (std::int64_t t = 0; t < dy.rows; ++t) {
      if (tokens[static_cast<std::size_t>(t)] == r) sum += dy.at(t, c);
    }
    return sum;
  });
}

}  // namespace muster::test::reference
