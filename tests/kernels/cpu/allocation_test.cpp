#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ops/adamw.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/matmul.hpp"
#include "kernels/ops/reduce.hpp"
#include "tests/support/counting_new.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

/// Calls of operator new during ten calls of `op`, after one that may make and grow things.
long allocations_in_ten(const std::function<void()>& op) {
  op();
  const long before = allocation_count();
  for (int i = 0; i < 10; ++i) op();
  return allocation_count() - before;
}

TEST(AllocationCount, SeesEveryNew) {
  std::vector<std::unique_ptr<int>> kept;
  kept.reserve(20);

  EXPECT_EQ(allocations_in_ten([&] { kept.push_back(std::make_unique<int>(1)); }), 10);
}

class Allocation : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam(), 2);
};

TEST_P(Allocation, HappensInNoOpThatHasRunOnce) {
  Tensor a(Dtype::f32, 1, 50000);
  Tensor b(Dtype::f32, 1, 50000);
  Tensor c(Dtype::f32, 1, 50000);
  Tensor d(Dtype::f32, 1, 50000);
  Tensor narrow(Dtype::bf16, 1, 50000);
  Tensor norm(Dtype::f64, 1, 2);
  Tensor x(Dtype::f32, 100, 500);
  Tensor columns(Dtype::f32, 1, 500);
  const std::vector<ConstTensorView> sources{a.view(), b.view()};
  const std::vector<TensorView> destinations{c.view(), d.view()};
  const kernels::AdamwStep step{};
  kernels::Device& device = *device_;

  EXPECT_EQ(allocations_in_ten([&] { kernels::add(device, {c.view(), a.view(), b.view()}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] { kernels::cast(device, {narrow.view(), a.view()}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] { kernels::fill(device, {a.view(), 1.0}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] { kernels::accumulate(device, {a.view(), b.view()}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] { kernels::reduce(device, {destinations, sources}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] { kernels::norm_squared(device, {norm.view(), a.view()}); }), 0);
  EXPECT_EQ(allocations_in_ten([&] {
              kernels::column_sum(device, {columns.view(), x.view()});
            }),
            0);
  EXPECT_EQ(
      allocations_in_ten([&] {
        kernels::adamw(
            device,
            {.master = a.view(), .m = b.view(), .v = c.view(), .grad = d.view(), .step = &step});
      }),
      0);
}

/// oneDNN keeps the arguments of an execution in a map of its own, which it makes anew each time:
/// one node per argument (a, b, c, scratch) and the table. No more than that, whatever the size.
TEST_P(Allocation, OfAMatmulIsTheLibrarysArgumentMapOnly) {
  constexpr long kMapNodes = 6;
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (const std::int64_t n : {8, 200}) {
      Tensor a(dtype, n, n);
      Tensor b(dtype, n, n);
      Tensor c(Dtype::f32, n, n);
      const kernels::MatmulArgs args{.c = c.view(), .a = a.view(), .b = b.view()};

      EXPECT_LE(allocations_in_ten([&] { kernels::matmul(*device_, args); }), 10 * kMapNodes)
          << to_string(dtype) << " " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Allocation, testing::ValuesIn(supported_isas()));

}  // namespace
}  // namespace muster::test
