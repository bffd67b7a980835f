#include "collectives/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::collectives {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Call call_of(CallKind kind, Dtype dtype, std::int64_t count) {
  Call call;
  call.kind = kind;
  call.in = {nullptr, dtype, 1, count};
  call.count = count;
  return call;
}

TEST(Signature, KeepsEveryPart) {
  Call call = call_of(CallKind::broadcast, Dtype::u8, (std::int64_t{1} << 40) + 7);
  call.op = ReduceOp::prod;
  call.root = 1023;
  call.sequence = 0xFFFFFFFF;

  const Signature signature(call);

  EXPECT_EQ(signature.kind(), CallKind::broadcast);
  EXPECT_EQ(signature.dtype(), Dtype::u8);
  EXPECT_EQ(signature.op(), ReduceOp::prod);
  EXPECT_EQ(signature.root(), 1023);
  EXPECT_EQ(signature.sequence(), 0xFFFFFFFFU);
  EXPECT_EQ(signature.count, (std::int64_t{1} << 40) + 7);
}

TEST(Signature, DiffersWhereverACallDiffers) {
  const Call call = call_of(CallKind::all_reduce, Dtype::f32, 64);
  Call other_op = call;
  other_op.op = ReduceOp::max;
  Call other_root = call;
  other_root.root = 1;
  Call other_sequence = call;
  other_sequence.sequence = 1;

  EXPECT_EQ(Signature(call), Signature(call));
  for (const Call& other :
       {call_of(CallKind::broadcast, Dtype::f32, 64), call_of(CallKind::all_reduce, Dtype::f16, 64),
        call_of(CallKind::all_reduce, Dtype::f32, 65), other_op, other_root, other_sequence}) {
    EXPECT_NE(Signature(call), Signature(other));
  }
}

TEST(Signature, ReadsAsTheCall) {
  EXPECT_EQ(to_string(Signature(call_of(CallKind::all_reduce, Dtype::f32, 64))),
            "all_reduce f32[64]");
  EXPECT_EQ(to_string(Signature(call_of(CallKind::barrier, Dtype::f32, 0))), "barrier");
}

TEST(SignatureMismatch, NamesBothCalls) {
  Call first = call_of(CallKind::all_reduce, Dtype::f32, 64);
  Call second = call_of(CallKind::broadcast, Dtype::f32, 64);
  first.sequence = second.sequence = 12;

  const Error error =
      signature_mismatch("data.0", 1, {0, Signature(first)}, {1, Signature(second)});

  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.what(),
              StartsWith("invalid argument: seq 12: rank 0 all_reduce f32[64], rank 1 "
                         "broadcast f32[64] (group data.0, lane 1)"));
}

TEST(SignatureMismatch, NamesBothNumbersWhenCallsWereSkipped) {
  Call first = call_of(CallKind::barrier, Dtype::f32, 0);
  const Call second = first;
  first.sequence = 3;

  const Error error = signature_mismatch("world", 0, {0, Signature(first)}, {2, Signature(second)});

  EXPECT_THAT(error.what(), HasSubstr("rank 0 seq 3 barrier, rank 2 seq 0 barrier"));
}

}  // namespace
}  // namespace muster::collectives
