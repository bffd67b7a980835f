#include "kernels/ops/adamw.hpp"

#include <array>
#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using AdamwParam = std::tuple<std::string, std::int64_t>;

class Adamw : public testing::TestWithParam<AdamwParam> {
 protected:
  std::int64_t n() const { return std::get<1>(GetParam()); }
  Tensor normal_tensor(std::uint64_t key) const {
    Tensor made(Dtype::f32, 1, n());
    return made.fill_normal(key);
  }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

/// The tensors of one optimiser state.
struct State {
  Tensor master;
  Tensor m;
  Tensor v;
};

/// One step in double precision, as the header of the op defines it.
void step_in_double(State& state, const Tensor& grad, const kernels::AdamwArgs& args) {
  const kernels::AdamwStep& step = *args.step;
  const double beta1 = args.beta1;
  const double beta2 = args.beta2;
  const double lr = step.lr;
  for (std::int64_t i = 0; i < grad.cols(); ++i) {
    const double g = static_cast<double>(step.gradient_scale) * grad.at(0, i);
    const double m = beta1 * state.m.at(0, i) + (1.0 - beta1) * g;
    const double v = beta2 * state.v.at(0, i) + (1.0 - beta2) * g * g;
    const double decayed =
        state.master.at(0, i) * (1.0 - lr * static_cast<double>(args.weight_decay));
    const double denominator =
        std::sqrt(v) / std::sqrt(step.bias_correction2) + static_cast<double>(args.eps);
    state.m.set(0, i, m);
    state.v.set(0, i, v);
    state.master.set(0, i, decayed - lr / step.bias_correction1 * m / denominator);
  }
}

/// About ten f32 operations, each off by half a unit in the last place.
constexpr double kRelative = 10.0 * 0x1.0p-24;

TEST_P(Adamw, FollowsItsFormulaInEveryElement) {
  State state{normal_tensor(1), normal_tensor(2), normal_tensor(3)};
  for (std::int64_t i = 0; i < n(); ++i) state.v.set(0, i, std::abs(state.v.at(0, i)));
  State expected = state;
  const Tensor grad = normal_tensor(4);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    Tensor compute(dtype, 1, n());
    const kernels::AdamwStep step{.lr = 1e-2F,
                                  .gradient_scale = 0.25F,
                                  .bias_correction1 = 0.271,
                                  .bias_correction2 = 0.142625};
    const kernels::AdamwArgs args{.master = state.master.view(),
                                  .m = state.m.view(),
                                  .v = state.v.view(),
                                  .grad = grad.view(),
                                  .compute = compute.view(),
                                  .eps = 0.01F,  // large enough to be seen
                                  .weight_decay = 0.1F,
                                  .step = &step};

    kernels::adamw(*device_, args);

    step_in_double(expected, grad, args);
    for (const Tensor* tensor : {&state.master, &state.m, &state.v, &compute}) {
      EXPECT_TRUE(tensor->margins_are_untouched());
    }
    for (std::int64_t i = 0; i < n(); ++i) {
      // The terms of a sum may cancel, so the bound follows their size: all are below 5.
      ASSERT_NEAR(state.master.at(0, i), expected.master.at(0, i), 5.0 * kRelative) << i;
      ASSERT_NEAR(state.m.at(0, i), expected.m.at(0, i), 5.0 * kRelative) << i;
      ASSERT_NEAR(state.v.at(0, i), expected.v.at(0, i), 5.0 * kRelative) << i;
      ASSERT_EQ(compute.at(0, i), rounded(state.master.at(0, i), dtype)) << i;
    }
    expected = state;
  }
}

TEST_P(Adamw, LeavesAnElementThatNeverHadAGradientAlone) {
  State state{normal_tensor(1), Tensor(Dtype::f32, 1, n()), Tensor(Dtype::f32, 1, n())};
  const State before = state;
  const Tensor grad(Dtype::f32, 1, n());
  const kernels::AdamwStep step{.lr = 1e-2F};

  kernels::adamw(*device_, {.master = state.master.view(),
                            .m = state.m.view(),
                            .v = state.v.view(),
                            .grad = grad.view(),
                            .step = &step});

  EXPECT_TRUE(same_bits(state.master, before.master));
}

TEST_P(Adamw, GivesAnElementTheSameBitsWhereverItLies) {
  State whole{normal_tensor(1), normal_tensor(2), normal_tensor(3)};
  for (std::int64_t i = 0; i < n(); ++i) whole.v.set(0, i, std::abs(whole.v.at(0, i)));
  State cut = whole;
  const Tensor grad = normal_tensor(4);
  const kernels::AdamwStep step{.lr = 1e-3F};
  const auto update = [&](State& state, std::int64_t begin, std::int64_t count) {
    kernels::adamw(*device_, {.master = state.master.view().cols_from(begin, count),
                              .m = state.m.view().cols_from(begin, count),
                              .v = state.v.view().cols_from(begin, count),
                              .grad = grad.view().cols_from(begin, count),
                              .weight_decay = 0.1F,
                              .step = &step});
  };

  update(whole, 0, n());
  const std::int64_t at = n() / 3;
  update(cut, 0, at);
  update(cut, at, n() - at);

  EXPECT_TRUE(same_bits(whole.master, cut.master));
  EXPECT_TRUE(same_bits(whole.m, cut.m));
  EXPECT_TRUE(same_bits(whole.v, cut.v));
}

INSTANTIATE_TEST_SUITE_P(All, Adamw,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values<std::int64_t>(0, 1, 7, 8, 15, 16, 33,
                                                                        1000, 20011)));

class AdamwOnEveryIsa : public testing::TestWithParam<std::string> {};

/// Three steps of torch.optim.AdamW (single-tensor path), printed with nine decimals.
TEST_P(AdamwOnEveryIsa, AgreesWithTorch) {
  constexpr double kPrinted = 1e-9 + 0x1.0p-23;  // the printing, and one unit in the last place
  const auto device = open_cpu(GetParam());
  Tensor p(Dtype::f32, 1, 3);
  Tensor m(Dtype::f32, 1, 3);
  Tensor v(Dtype::f32, 1, 3);
  Tensor g(Dtype::f32, 1, 3);
  const auto set = [](Tensor& tensor, const std::array<double, 3>& values) {
    for (std::int64_t i = 0; i < 3; ++i) tensor.set(0, i, values[static_cast<std::size_t>(i)]);
  };
  const std::array<std::array<double, 3>, 3> gradients{
      {{0.1, -0.2, 0.3}, {0.05, 0.4, -0.1}, {1e-3, -1.0, 0.0}}};
  const std::array<std::array<double, 3>, 3> golden{{{0.989000022, -1.988000035, 0.489500016},
                                                     {0.978618145, -1.989645839, 0.484967440},
                                                     {0.970226884, -1.983070731, 0.481316745}}};
  set(p, {1.0, -2.0, 0.5});

  for (std::size_t t = 0; t < 3; ++t) {
    set(g, gradients[t]);
    const kernels::AdamwStep step{
        .lr = 1e-2F,
        .bias_correction1 = 1.0 - std::pow(0.9, static_cast<double>(t + 1)),
        .bias_correction2 = 1.0 - std::pow(0.95, static_cast<double>(t + 1))};

    kernels::adamw(*device, {.master = p.view(),
                             .m = m.view(),
                             .v = v.view(),
                             .grad = g.view(),
                             .weight_decay = 0.1F,
                             .step = &step});

    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(p.at(0, i), golden[t][static_cast<std::size_t>(i)], kPrinted) << t << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdamwOnEveryIsa, testing::ValuesIn(supported_isas()));

}  // namespace
}  // namespace muster::test
