#include "runtime/program/liveness.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

struct Span {
  std::int64_t first = -1;
  std::int64_t last = -1;
};

Span life_of(const List& list, ValueId id) {
  Span span;
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    for (const auto* operands : {&list.ops[i].inputs, &list.ops[i].outputs}) {
      for (const ValueId operand : *operands) {
        if (operand == kNone || list.root(operand) != id) continue;
        if (span.first < 0) span.first = static_cast<std::int64_t>(i);
        span.last = static_cast<std::int64_t>(i);
      }
    }
  }
  return span;
}

/// No two values that are alive at the same op share a byte.
void expect_no_overlap(const List& list, const ArenaPlan& plan) {
  const auto count = static_cast<ValueId>(list.values.size());
  for (ValueId a = 0; a < count; ++a) {
    for (ValueId b = a + 1; b < count; ++b) {
      const std::int64_t begin_a = plan.offsets[static_cast<std::size_t>(a)];
      const std::int64_t begin_b = plan.offsets[static_cast<std::size_t>(b)];
      if (begin_a < 0 || begin_b < 0) continue;
      const Span life_a = life_of(list, a);
      const Span life_b = life_of(list, b);
      if (life_a.last < life_b.first || life_b.last < life_a.first) continue;
      const bool are_apart =
          begin_a + list.value(a).bytes() <= begin_b || begin_b + list.value(b).bytes() <= begin_a;
      EXPECT_TRUE(are_apart) << "values " << a << " and " << b;
    }
  }
}

List chain_of_adds(const std::vector<std::int64_t>& sizes) {
  List list;
  ValueId previous = list.computed("v", 1, sizes[0], Dtype::f32);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const ValueId next = list.computed("v", 1, sizes[i], Dtype::f32);
    emit(list, "add", {previous, previous}, {next});
    previous = next;
  }
  return list;
}

TEST(PlanArena, ReusesThePlaceOfAValueThatIsDead) {
  const List list = chain_of_adds({64, 64, 64, 64});

  const ArenaPlan plan = plan_arena(list);

  EXPECT_EQ(plan.bytes, 2 * 256);  // two values of 256 bytes are alive at every op
  EXPECT_EQ(plan.lower_bound, 2 * 256);
}

TEST(PlanArena, CountsAViewForItsBase) {
  List list;
  const ValueId base = list.computed("base", 4, 64, Dtype::f32);
  const ValueId view = list.column_view(base, "view", 0, 32);
  const ValueId other = list.computed("other", 4, 64, Dtype::f32);
  emit(list, "add", {base, base}, {base});
  emit(list, "add", {other, other}, {other});
  emit(list, "add", {view, view}, {view});

  const ArenaPlan plan = plan_arena(list);

  expect_no_overlap(list, plan);
  EXPECT_EQ(plan.bytes, 2 * 1024);
  EXPECT_EQ(plan.offsets[static_cast<std::size_t>(view)], -1);
}

TEST(PlanArena, GivesParametersNoPlace) {
  List list;
  const ValueId weight =
      list.add_value({.name = "w", .rows = 8, .cols = 8, .origin = Origin::parameter, .index = 0});
  const ValueId y = list.computed("y", 8, 8, Dtype::f32);
  emit(list, "add", {weight, weight}, {y});

  const ArenaPlan plan = plan_arena(list);

  EXPECT_EQ(plan.offsets[static_cast<std::size_t>(weight)], -1);
  EXPECT_EQ(plan.bytes, 256);
}

TEST(PlanArena, KeepsValuesApartInRandomLists) {
  std::mt19937 engine(1);
  for (int round = 0; round < 50; ++round) {
    List list;
    for (int i = 0; i < 40; ++i) {
      list.computed("v", 1, static_cast<std::int64_t>(engine() % 2000) + 1, Dtype::f32);
    }
    for (int i = 0; i < 60; ++i) {
      const auto pick = [&] { return static_cast<ValueId>(engine() % 40); };
      emit(list, "add", {pick(), pick()}, {pick()});
    }

    const ArenaPlan plan = plan_arena(list);

    expect_no_overlap(list, plan);
    EXPECT_GE(plan.bytes, plan.lower_bound);
  }
}

}  // namespace
}  // namespace muster::runtime
