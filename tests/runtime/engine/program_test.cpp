#include "runtime/engine/program.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/program/op_kind.hpp"
#include "runtime/program/price.hpp"

namespace muster::runtime {
namespace {

EngineOptions options_of(std::int64_t layers, Dtype compute = Dtype::bf16) {
  return {.shape = {.layers = layers,
                    .hidden = 64,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 16,
                    .ffn = 96,
                    .vocab = 259,
                    .max_position = 32},
          .batch = {2, 32},
          .compute = compute};
}

std::map<std::string, int> count_kinds(const List& list) {
  std::map<std::string, int> counts;
  for (const Op& op : list.ops) ++counts[std::string(op.kind->name())];
  return counts;
}

TEST(MakeProgram, FusesTheResidualWithTheNormBehindIt) {
  const Program program = make_program(options_of(3), 1);

  const auto counts = count_kinds(program.first);

  EXPECT_EQ(counts.at("rms_norm"), 2 * 3 + 1);
  EXPECT_EQ(counts.at("add"), 3);  // the one at the end of each block: the norm is in the next list
}

TEST(MakeProgram, ReducesEachUnitOnceRightAfterItsLastGradient) {
  const Program program = make_program(options_of(3), 2);

  EXPECT_EQ(count_kinds(program.first).count("all_reduce"), 0U);
  EXPECT_EQ(count_kinds(program.last).at("all_reduce"), 3 + 2);  // blocks, stem, head
  const List& list = program.only;
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    if (list.ops[i].kind->name() != "all_reduce") continue;
    const int unit = list.value(list.ops[i].inputs[0]).index;
    for (std::size_t later = i + 1; later < list.ops.size(); ++later) {
      for (const ValueId id : list.ops[later].outputs) {
        if (id == kNone || list.value(id).origin != Origin::gradient) continue;
        EXPECT_NE(program.registry.parameter(list.value(id).index).unit, unit)
            << "op " << later << " writes a gradient that op " << i << " has reduced";
      }
    }
  }
}

TEST(MakeProgram, ReducesATiedWeightAfterTheEmbeddingHasAddedToIt) {
  EngineOptions options = options_of(2);
  options.shape.tie_embeddings = true;

  const Program program = make_program(options, 2);

  EXPECT_EQ(program.registry.units()[0].name, "tied");
  EXPECT_EQ(program.registry.units()[0].parameters.size(), 1U);
  EXPECT_EQ(program.only.ops.back().kind->name(), "all_reduce");
  EXPECT_EQ(program.only.value(program.only.ops.back().inputs[0]).index, 0);
}

TEST(MakeProgram, NeedsNoReductionForOneRank) {
  const Program program = make_program(options_of(2), 1);

  EXPECT_EQ(program.only.ops.size(), program.first.ops.size());
}

TEST(MakeProgram, OverwritesGradientsInTheFirstMicroBatchAndAddsInTheNext) {
  const Program program = make_program(options_of(2), 1);

  const auto overwrites = [](const List& list) {
    return std::count_if(list.ops.begin(), list.ops.end(), [&](const Op& op) {
      return op.kind->name() == "linear_weight_gradient" && !op.attributes.is_set("accumulate");
    });
  };

  EXPECT_EQ(overwrites(program.first), 4 * 2 + 1);  // each weight once, the head's first chunk
  EXPECT_EQ(overwrites(program.middle), 0);
}

TEST(MakeProgram, KeepsStatisticsInF32WhateverTheComputeDtype) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const Program program = make_program(options_of(1, compute), 1);
    for (const Value& value : program.first.values) {
      if (value.name == "rstd" || value.name == "lse" || value.name == "logits") {
        EXPECT_EQ(value.dtype, Dtype::f32) << value.name;
      }
      if (value.name == "h" || value.name == "d_h") {
        EXPECT_EQ(value.dtype, compute) << value.name;
      }
    }
  }
}

TEST(MakeProgram, MakesLogitsOfOneChunkOnly) {
  EngineOptions options = options_of(1);
  options.shape.vocab = 300'000;
  options.batch = {8, 32};

  const Program program = make_program(options, 1);

  for (const Value& value : program.first.values) {
    if (value.name == "logits") {
      EXPECT_LE(value.rows, 16);
    }
  }
  EXPECT_LT(program.arena.bytes, 64 * 1024 * 1024);  // all logits would be 307 MB
}

TEST(MakeProgram, UpdatesEveryParameterWithItsOwnDecay) {
  const Program program = make_program(options_of(2), 1);

  for (const Op& op : program.update.ops) {
    const Value& master = program.update.value(op.outputs[0]);
    const bool is_norm = master.name.find("norm") != std::string::npos;
    EXPECT_EQ(op.attributes["weight_decay"] == 0.0, is_norm) << master.name;
  }
  EXPECT_EQ(program.update.ops.size(), program.registry.parameters().size());
}

TEST(Price, AddsTheMeasuredTimesOfAllOps) {
  const Program program = make_program(options_of(1), 2);
  Profile profile;
  for (const Op& op : program.only.ops) {
    profile.device.op_seconds[op_key(program.only, op)] = 1.0;
  }

  EXPECT_DOUBLE_EQ(price(program.only, profile), static_cast<double>(program.only.ops.size()));
}

TEST(Price, TakesTheSlowerOfComputingAndMoving) {
  List list;
  const ValueId x = list.computed("x", 100, 100, Dtype::f32);
  const ValueId w = list.computed("w", 100, 100, Dtype::f32);
  const ValueId y = list.computed("y", 100, 100, Dtype::f32);
  emit(list, "linear", {x, w, kNone}, {y});  // 2e6 FLOP, 1.2e5 bytes
  Profile profile;
  profile.device.matmul_flops[Dtype::f32] = 2e6;
  profile.device.memory_bytes = 1.2e6;

  EXPECT_DOUBLE_EQ(price(list, profile), 1.0);
  profile.device.memory_bytes = 1.2e4;
  EXPECT_DOUBLE_EQ(price(list, profile), 10.0);
}

TEST(AllReduceSeconds, LiesBetweenTheMeasuredSizesAroundIt) {
  LinkProfile link;
  link.all_reduce_s = {{1000, 1e-6}, {1000000, 1e-3}};
  link.beta_s_per_byte = 1e-9;

  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 10.0), 1e-6);
  EXPECT_NEAR(all_reduce_seconds(link, 31622.8), 3.162e-5, 1e-7);  // halfway in logarithms
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 3000000.0), 3e-3);
}

}  // namespace
}  // namespace muster::runtime
