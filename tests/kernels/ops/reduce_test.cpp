#include "kernels/ops/reduce.hpp"

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ops/elementwise.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using kernels::ReduceOp;

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min,
                             ReduceOp::prod};
const Dtype kDtypes[] = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                         Dtype::i64, Dtype::i32, Dtype::i8,  Dtype::u8};

/// Views of some tensors, as ReduceArgs wants them.
std::vector<ConstTensorView> views(const std::vector<Tensor>& tensors) {
  std::vector<ConstTensorView> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(tensor.view());
  return result;
}
std::vector<TensorView> mutable_views(std::vector<Tensor>& tensors) {
  std::vector<TensorView> result;
  result.reserve(tensors.size());
  for (Tensor& tensor : tensors) result.push_back(tensor.view());
  return result;
}

std::vector<Tensor> make_sources(Dtype dtype, std::size_t count, std::int64_t n,
                                 std::int64_t limit) {
  std::vector<Tensor> sources;
  for (std::size_t s = 0; s < count; ++s) {
    sources.emplace_back(dtype, 1, n).fill_integers(s + 1, limit);
  }
  return sources;
}

reference::Expected expected_of(const std::vector<Tensor>& sources, ReduceOp op) {
  std::vector<const Tensor*> pointers;
  pointers.reserve(sources.size());
  for (const Tensor& source : sources) pointers.push_back(&source);
  return reference::reduce(pointers, op);
}

using ReduceParam = std::tuple<std::string, Dtype, std::size_t, std::size_t>;

class Reduce : public testing::TestWithParam<ReduceParam> {
 protected:
  Dtype dtype() const { return std::get<1>(GetParam()); }
  std::size_t source_count() const { return std::get<2>(GetParam()); }
  std::size_t destination_count() const { return std::get<3>(GetParam()); }
  /// Small enough that every sum and product is exact in the dtype, but for an average.
  std::int64_t limit(ReduceOp op) const {
    return op == ReduceOp::prod ? 1 : 126 / static_cast<std::int64_t>(source_count());
  }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(Reduce, OfWholeNumbersIsExactInEveryDestination) {
  for (const ReduceOp op : kOps) {
    // Long enough for two threads once only: that is where a sum is cut, whatever the op.
    for (const std::int64_t n : {1, 15, 64, 1031, op == ReduceOp::sum ? 70001 : 300}) {
      const bool streaming = n > 1000;
      const std::vector<Tensor> sources = make_sources(dtype(), source_count(), n, limit(op));
      std::vector<Tensor> destinations(destination_count(), Tensor(dtype(), 1, n));
      const reference::Expected expected = expected_of(sources, op);

      kernels::reduce(*device_, {mutable_views(destinations), views(sources), op, streaming});

      for (const Tensor& destination : destinations) {
        EXPECT_TRUE(destination.margins_are_untouched());
        for (std::int64_t i = 0; i < n; ++i) {
          const double exact = expected.at(0, i);
          const double right = is_floating(dtype()) ? rounded(exact, dtype()) : std::trunc(exact);
          ASSERT_EQ(destination.at(0, i), right) << "op " << static_cast<int>(op) << " at " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reduce,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::ValuesIn(kDtypes),
                                          testing::Values<std::size_t>(1, 2, 3, 8, 11),
                                          testing::Values<std::size_t>(1, 4, 6)));

class ReduceOnEveryIsa : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam(), 2);
};

TEST_P(ReduceOnEveryIsa, MayWriteOverASource) {
  for (const bool streaming : {false, true}) {
    std::vector<Tensor> sources = make_sources(Dtype::bf16, 3, 5000, 9);
    const reference::Expected expected = expected_of(sources, ReduceOp::sum);
    const std::vector<TensorView> destinations = mutable_views(sources);

    kernels::reduce(*device_, {destinations, views(sources), ReduceOp::sum, streaming});

    for (const Tensor& result : sources) {
      for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(result.at(0, i), expected.at(0, i));
    }
  }
}

/// In f32 the order of a sum shows: 2^24 + 1 + 1 loses both ones, 1 + 1 + 2^24 none.
TEST_P(ReduceOnEveryIsa, AddsInTheOrderOfTheList) {
  std::vector<Tensor> sources(3, Tensor(Dtype::f32, 1, 100));
  for (std::int64_t i = 0; i < 100; ++i) {
    sources[0].set(0, i, i % 2 == 0 ? 0x1.0p24 : 1.0);
    sources[1].set(0, i, 1.0);
    sources[2].set(0, i, i % 2 == 0 ? 1.0 : 0x1.0p24);
  }
  std::vector<Tensor> sum(1, Tensor(Dtype::f32, 1, 100));

  kernels::reduce(*device_, {mutable_views(sum), views(sources)});

  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(sum[0].at(0, i), i % 2 == 0 ? 0x1.0p24 : 0x1.0p24 + 2.0) << i;
  }
}

/// 256 + 1 + 1 is 256 when every step rounds to bf16, 258 when only the last does.
TEST_P(ReduceOnEveryIsa, RoundsSixteenBitFloatsOnce) {
  std::vector<Tensor> sources(3, Tensor(Dtype::bf16, 1, 77));
  kernels::fill(*device_, {sources[0].view(), 256.0});
  kernels::fill(*device_, {sources[1].view(), 1.0});
  kernels::fill(*device_, {sources[2].view(), 1.0});
  std::vector<Tensor> sum(1, Tensor(Dtype::bf16, 1, 77));

  kernels::reduce(*device_, {mutable_views(sum), views(sources)});

  for (std::int64_t i = 0; i < 77; ++i) ASSERT_EQ(sum[0].at(0, i), 258.0) << i;
}

TEST_P(ReduceOnEveryIsa, PassesANanOnFromAnySource) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const ReduceOp op : kOps) {
      std::vector<Tensor> sources = make_sources(dtype, 3, 53, 9);
      for (std::int64_t i = 0; i < 53; ++i) {
        sources[static_cast<std::size_t>(i % 3)].set(0, i, std::nan(""));
      }
      std::vector<Tensor> out(1, Tensor(dtype, 1, 53));

      kernels::reduce(*device_, {mutable_views(out), views(sources), op});

      for (std::int64_t i = 0; i < 53; ++i) {
        ASSERT_TRUE(std::isnan(out[0].at(0, i))) << static_cast<int>(op) << " at " << i;
      }
    }
  }
}

TEST_P(ReduceOnEveryIsa, LetsIntegersWrapRound) {
  std::vector<Tensor> sources(2, Tensor(Dtype::i8, 1, 70));
  for (Tensor& source : sources) kernels::fill(*device_, {source.view(), 100.0});
  std::vector<Tensor> out(1, Tensor(Dtype::i8, 1, 70));

  kernels::reduce(*device_, {mutable_views(out), views(sources), ReduceOp::sum});
  EXPECT_EQ(out[0].at(0, 69), 200.0 - 256.0);

  kernels::reduce(*device_, {mutable_views(out), views(sources), ReduceOp::avg});
  EXPECT_EQ(out[0].at(0, 69), 100.0);
}

TEST_P(ReduceOnEveryIsa, TakesUnalignedMemory) {
  constexpr std::int64_t kCount = 3000;
  std::vector<std::byte> bytes(3 * (kCount * sizeof(float) + 16));
  const auto unaligned = [&](std::size_t which) {
    return TensorView(bytes.data() + which * (kCount * sizeof(float) + 16) + which + 1, Dtype::f32,
                      1, kCount);
  };
  Tensor values(Dtype::f32, 1, kCount);
  values.fill_normal(1);
  for (const std::size_t which : {0U, 1U}) {
    std::memcpy(unaligned(which).data, values.view().data, values.view().bytes());
  }
  const std::vector<ConstTensorView> sources{unaligned(0), unaligned(1)};
  const std::vector<TensorView> destinations{unaligned(2)};

  kernels::reduce(*device_, {destinations, sources, ReduceOp::avg, true});

  EXPECT_EQ(std::memcmp(unaligned(2).data, values.view().data, values.view().bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ReduceOnEveryIsa, testing::ValuesIn(supported_isas()));

}  // namespace
}  // namespace muster::test
