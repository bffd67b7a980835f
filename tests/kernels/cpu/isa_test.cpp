#include "kernels/cpu/isa.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace {

/// Sets MUSTER_CPU_ISA for one test and restores it.
class ChooseIsa : public testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("MUSTER_CPU_ISA");
    if (before != nullptr) before_ = before;
    unsetenv("MUSTER_CPU_ISA");
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("MUSTER_CPU_ISA");
    } else {
      setenv("MUSTER_CPU_ISA", before_.c_str(), 1);
    }
  }
  static ErrorCode error_of(std::string_view wanted) {
    try {
      choose_isa(wanted);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  }

 private:
  std::string before_;
};

TEST_F(ChooseIsa, TakesTheWidestWhenNothingIsAskedFor) {
  EXPECT_EQ(choose_isa(""), is_supported(Isa::avx512) ? Isa::avx512 : Isa::avx2);
}

TEST_F(ChooseIsa, TakesTheEnvironmentWhenNothingElseIsAskedFor) {
  setenv("MUSTER_CPU_ISA", "avx2", 1);

  EXPECT_EQ(choose_isa(""), Isa::avx2);
}

TEST_F(ChooseIsa, PrefersWhatIsAskedForToTheEnvironment) {
  setenv("MUSTER_CPU_ISA", "nonsense", 1);

  EXPECT_EQ(choose_isa("avx2"), Isa::avx2);
}

TEST_F(ChooseIsa, RefusesAnUnknownName) {
  EXPECT_EQ(error_of("AVX2"), ErrorCode::invalid_argument);

  setenv("MUSTER_CPU_ISA", "avx", 1);
  EXPECT_EQ(error_of(""), ErrorCode::invalid_argument);
}

TEST_F(ChooseIsa, RefusesWhatTheProcessorLacks) {
  if (is_supported(Isa::avx512)) GTEST_SKIP() << "this processor has every set there is";

  EXPECT_EQ(error_of("avx512"), ErrorCode::unsupported);
}

TEST(OpTable, IsAnotherOnePerInstructionSet) {
  EXPECT_NE(&op_table(Isa::avx2), &op_table(Isa::avx512));
  EXPECT_NE(op_table(Isa::avx2).add, op_table(Isa::avx512).add);
}

}  // namespace
}  // namespace muster::kernels::cpu
