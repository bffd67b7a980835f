#include "kernels/ops/swiglu.hpp"

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/close.hpp"
#include "tests/support/finite_difference.hpp"
#include "tests/support/reference_layers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using reference::Expected;

/// An exponential to 2 units in the last place and half a dozen operations, of values whose
/// products reach some tens.
constexpr double kSwigluF32Error = 2e-5;

struct SwigluShape {
  std::int64_t tokens;
  std::int64_t ffn;
  std::int64_t gap;
};

const SwigluShape kSwigluShapes[] = {{1, 1, 0},  {3, 7, 2},  {2, 8, 0},    {5, 15, 1},
                                     {4, 16, 0}, {9, 17, 3}, {33, 100, 0}, {2, 9000, 5}};
using SwigluParam = std::tuple<std::string, Dtype, SwigluShape>;

class Swiglu : public testing::TestWithParam<SwigluParam> {
 protected:
  Tensor matrix(std::uint64_t key) const {
    const auto& [isa, dtype, shape] = GetParam();
    return std::move(Tensor(dtype, shape.tokens, shape.ffn, shape.gap).fill_normal(key));
  }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(Swiglu, MatchesTheReferenceAlsoInPlace) {
  const Tensor gate = matrix(1);
  const Tensor up = matrix(2);
  Tensor h = matrix(3);

  kernels::swiglu(*device_, {h.view(), gate.view(), up.view()});

  expect_close(h, reference::swiglu(values_of(gate), values_of(up)), kSwigluF32Error);
  EXPECT_TRUE(h.margins_are_untouched());
  Tensor onto_gate = gate;
  kernels::swiglu(*device_, {onto_gate.view(), onto_gate.view(), up.view()});
  EXPECT_TRUE(same_bits(onto_gate, h));
  Tensor onto_up = up;
  kernels::swiglu(*device_, {onto_up.view(), gate.view(), onto_up.view()});
  EXPECT_TRUE(same_bits(onto_up, h));
}

TEST_P(Swiglu, BackwardMatchesTheReferenceAlsoInPlace) {
  const Tensor gate = matrix(1);
  const Tensor up = matrix(2);
  const Tensor dh = matrix(3);
  Tensor dgate = matrix(4);
  Tensor dup = matrix(5);

  kernels::swiglu_backward(*device_, {dgate.view(), dup.view(), dh.view(), gate.view(), up.view()});

  const auto expected = reference::swiglu_backward(values_of(dh), values_of(gate), values_of(up));
  expect_close(dgate, expected.dgate, kSwigluF32Error);
  expect_close(dup, expected.dup, kSwigluF32Error);
  EXPECT_TRUE(dgate.margins_are_untouched());
  EXPECT_TRUE(dup.margins_are_untouched());
  Tensor onto_gate = gate;
  Tensor onto_up = up;
  kernels::swiglu_backward(
      *device_, {onto_gate.view(), onto_up.view(), dh.view(), onto_gate.view(), onto_up.view()});
  EXPECT_TRUE(same_bits(onto_gate, dgate));
  EXPECT_TRUE(same_bits(onto_up, dup));
  Tensor onto_dh = dh;
  kernels::swiglu_backward(*device_,
                           {dgate.view(), onto_dh.view(), onto_dh.view(), gate.view(), up.view()});
  EXPECT_TRUE(same_bits(onto_dh, dup));
}

INSTANTIATE_TEST_SUITE_P(All, Swiglu,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kSwigluShapes)));

class SwigluCase : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, SwigluCase, testing::ValuesIn(supported_isas()));

TEST_P(SwigluCase, SaturatesFarFromZero) {
  Tensor gate(Dtype::f32, 1, 4);
  Tensor up(Dtype::f32, 1, 4);
  Tensor h(Dtype::f32, 1, 4);
  const double gates[] = {1000.0, -1000.0, 0.0, std::nan("")};
  for (std::int64_t c = 0; c < 4; ++c) {
    gate.set(0, c, gates[c]);
    up.set(0, c, 3.0);
  }

  kernels::swiglu(*device_, {h.view(), gate.view(), up.view()});

  EXPECT_EQ(h.at(0, 0), 3000.0);
  EXPECT_NEAR(h.at(0, 1), 0.0, 1e-30);
  EXPECT_EQ(h.at(0, 2), 0.0);
  EXPECT_TRUE(std::isnan(h.at(0, 3)));
}

/// Against differences of the reference's forward; the tolerance is that of the f32 kernel, since
/// the difference's own error is 1e-8.
TEST_P(SwigluCase, BackwardMatchesFiniteDifferences) {
  const auto row = [](std::uint64_t key) {
    return std::move(Tensor(Dtype::f32, 1, 40).fill_normal(key));
  };
  const Tensor gate = row(1);
  const Tensor up = row(2);
  const Tensor dh = row(3);
  Tensor dgate = row(4);
  Tensor dup = row(5);

  kernels::swiglu_backward(*device_, {dgate.view(), dup.view(), dh.view(), gate.view(), up.view()});

  Expected at_gate = values_of(gate);
  Expected at_up = values_of(up);
  const Expected slopes = values_of(dh);
  const auto loss = [&] { return inner_product(slopes, reference::swiglu(at_gate, at_up)); };
  for (std::int64_t c = 0; c < 40; ++c) {
    EXPECT_NEAR(dgate.at(0, c), reference::central_difference(at_gate, 0, c, loss),
                kSwigluF32Error);
    EXPECT_NEAR(dup.at(0, c), reference::central_difference(at_up, 0, c, loss), kSwigluF32Error);
  }
}

}  // namespace
}  // namespace muster::test
