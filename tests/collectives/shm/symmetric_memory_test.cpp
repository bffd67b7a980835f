#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"

/// Memory of communicators whose ranks reach each other's memory.
namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SymmetricMemory : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void as_each_rank(const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = GetParam(), .ranks = 3}.run(body);
  }
};

bool is_zero(const Memory& memory) {
  return std::all_of(memory.data(), memory.data() + memory.bytes(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}
bool is_aligned(const Memory& memory, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(memory.data()) % to == 0;
}

TEST_P(SymmetricMemory, IsZeroAndAlignedEvenWhenUsedBefore) {
  as_each_rank([](Communicator& group) {
    for (const std::size_t bytes : {0UL, 1UL, 255UL, 256UL, 70001UL, 3000000UL}) {
      for (int round = 0; round < 3; ++round) {
        const Memory memory = group.memory().allocate(bytes, "a buffer");

        EXPECT_EQ(memory.bytes(), bytes);
        EXPECT_TRUE(is_aligned(memory, 256)) << bytes;
        EXPECT_TRUE(is_zero(memory)) << bytes << " bytes, round " << round;
        if (bytes > 0) std::memset(memory.data(), 0xFF, bytes);
      }
    }
  });
}

TEST_P(SymmetricMemory, CountsWhatIsInUseAndUsesItAgain) {
  as_each_rank([](Communicator& group) {
    MemorySource& source = group.memory();
    const Memory kept = source.allocate(1000, "kept");
    const std::size_t before = source.allocated();
    std::byte* first = nullptr;
    {
      const Memory freed = source.allocate(5000, "freed");
      first = freed.data();
      EXPECT_EQ(source.allocated(), before + 5120);
    }
    EXPECT_EQ(source.allocated(), before);

    const Memory again = source.allocate(5000, "again");

    EXPECT_EQ(again.data(), first);
  });
}

TEST_P(SymmetricMemory, PeersWriteIntoIt) {
  as_each_rank([](Communicator& group) {
    constexpr std::int64_t kCount = 100000;
    const Memory memory = group.memory().allocate(kCount * sizeof(float), "data");
    auto* const data = reinterpret_cast<float*>(memory.data());
    std::fill(data, data + kCount, 1.0F);
    const TensorView view = vector_view(data, kCount);

    group.all_reduce(view, view, ReduceOp::sum).wait();

    EXPECT_TRUE(std::all_of(data, data + kCount, [](float value) { return value == 3.0F; }));
  });
}

TEST_P(SymmetricMemory, DifferentSizesAreNamedOnAllRanks) {
  as_each_rank([](Communicator& group) {
    const std::size_t bytes = group.rank() == 2 ? 2048 : 1024;

    const std::string text =
        error_text(ErrorCode::invalid_argument, [&] { group.memory().allocate(bytes, "arena"); });

    EXPECT_THAT(text, HasSubstr("rank 0 allocate u8[1024], rank 2 allocate u8[2048]"));
  });
}

TEST_P(SymmetricMemory, DifferentOffsetsAreNamedOnAllRanks) {
  as_each_rank([](Communicator& group) {
    const Memory first = group.memory().allocate(1024, "first");
    Memory second = group.memory().allocate(512, "second");
    if (group.rank() == 1) second = Memory();

    const std::string text =
        error_text(ErrorCode::invalid_argument, [&] { group.memory().allocate(512, "third"); });

    EXPECT_THAT(text, AllOf(HasSubstr("512 bytes would lie at offset"), HasSubstr("on rank 0"),
                            HasSubstr("on rank 1"), HasSubstr("in the same order")));
  });
}

TEST_P(SymmetricMemory, AnImpossibleSizeIsRefusedEverywhereAndChangesNothing) {
  as_each_rank([](Communicator& group) {
    for (const std::size_t bytes : {std::size_t{1} << 34, ~std::size_t{0} - 5}) {
      const std::string text =
          error_text(ErrorCode::out_of_memory, [&] { group.memory().allocate(bytes, "arena"); });

      EXPECT_THAT(text,
                  AllOf(HasSubstr(fmt::format("arena needs {} bytes", bytes)), HasSubstr("limit")));
    }
    EXPECT_EQ(group.memory().allocated(), 0U);
    EXPECT_NE(group.memory().allocate(1024, "small").data(), nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, SymmetricMemory,
                         testing::ValuesIn(backends_with_symmetric_memory()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
