#include "runtime/train/fault.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

TEST(ParseFault, ReadsRankStepAndTensor) {
  const Fault fault = parse_fault("nan:rank=1,step=3,tensor=model.norm.weight");

  EXPECT_TRUE(fault.strikes(1, 2));  // in the third step
  EXPECT_FALSE(fault.strikes(0, 2));
  EXPECT_FALSE(fault.strikes(1, 3));
  EXPECT_EQ(fault.tensor, "model.norm.weight");
}

TEST(ParseFault, PlansNothingWhenTheVariableIsEmpty) {
  EXPECT_FALSE(parse_fault("").strikes(0, 0));
}

TEST(ParseFault, NamesThePartThatIsWrong) {
  for (const char* text : {"inf:rank=1", "nan:rank=x,step=1,tensor=a", "nan:rank=1,step=1",
                           "nan:who=1,step=1,tensor=a", "nan:rank"}) {
    EXPECT_THROW(parse_fault(text), Error) << text;
  }
}

}  // namespace
}  // namespace muster::runtime
