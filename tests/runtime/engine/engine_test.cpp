#include "runtime/engine/engine.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/self/self_communicator.hpp"
#include "kernels/devices.hpp"

namespace muster::runtime {
namespace {

const ModelShape kShape{.layers = 2,
                        .hidden = 32,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = 8,
                        .ffn = 48,
                        .vocab = 61,
                        .max_position = 16,
                        .qkv_bias = true};

/// A rank without peers and its engine, with weights that make every part matter.
class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> make_engine(std::int64_t rows, Dtype compute = Dtype::f32,
                                      bool is_tied = false) {
    EngineOptions options{.shape = kShape, .batch = {rows, 16}, .compute = compute};
    options.shape.tie_embeddings = is_tied;
    auto engine = std::make_unique<Engine>(options, *device_, group_);
    for (std::size_t i = 0; i < engine->registry().parameters().size(); ++i) {
      const TensorView view = engine->store().view(Origin::master, static_cast<int>(i));
      float* const data = view.row<float>(0);
      for (std::int64_t j = 0; j < view.count(); ++j) {
        data[j] = 0.3F * std::sin(static_cast<float>(j) * 1.7F + static_cast<float>(i));
      }
    }
    engine->refresh_compute_copies();
    return engine;
  }

  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", {.threads = 1, .isa = {}});
  collectives::SelfCommunicator group_{{.name = "data", .hosts = {"here"}}, *device_};
};

struct Rows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> bounds;

  MicroBatchView view() const { return {tokens, targets, positions, bounds}; }
};

/// `count` rows of 16 tokens from row `begin` of an endless made-up text; every fifth target is
/// masked.
Rows make_rows(int begin, int count) {
  Rows rows;
  for (int row = 0; row < count; ++row) {
    for (int t = 0; t < 16; ++t) {
      const int i = (begin + row) * 16 + t;
      rows.tokens.push_back((i * 7 + i / 3) % 61);
      rows.targets.push_back(i % 5 == 0 ? -1 : (i * 11 + 3) % 61);
      rows.positions.push_back(t);
      rows.bounds.push_back(row * 16);
    }
  }
  return rows;
}

std::vector<float> gradient_of(Engine& engine, int parameter) {
  const TensorView view = engine.store().view(Origin::gradient, parameter);
  return {view.row<float>(0), view.row<float>(0) + view.count()};
}

TEST_F(EngineTest, GivesTheSameLossForwardAndWithBackward) {
  const auto engine = make_engine(2);
  const Rows rows = make_rows(0, 2);

  const double evaluated = engine->evaluate(rows.view());
  engine->run_micro_batch(rows.view(), 0, 1, 1.0F);

  EXPECT_DOUBLE_EQ(engine->loss_sum(), evaluated);
  EXPECT_GT(evaluated, 1.0);
}

TEST_F(EngineTest, GivesGradientsThatFiniteDifferencesConfirm) {
  const auto engine = make_engine(2);
  const Rows rows = make_rows(0, 2);
  engine->run_micro_batch(rows.view(), 0, 1, 1.0F);

  for (std::size_t i = 0; i < engine->registry().parameters().size(); ++i) {
    const int index = static_cast<int>(i);
    const std::vector<float> gradient = gradient_of(*engine, index);
    float* const weight = engine->store().view(Origin::master, index).row<float>(0);
    for (const std::size_t j : {std::size_t{0}, gradient.size() / 2, gradient.size() - 1}) {
      constexpr float kStep = 2e-3F;
      const float before = weight[j];
      weight[j] = before + kStep;
      const double above = engine->evaluate(rows.view());
      weight[j] = before - kStep;
      const double below = engine->evaluate(rows.view());
      weight[j] = before;
      // f32 losses near 100 carry about 1e-5: 5e-3 of a difference quotient over 4e-3.
      const double slope = (above - below) / (2.0 * static_cast<double>(kStep));
      EXPECT_NEAR(gradient[j], slope, 2e-2 + 2e-2 * std::abs(slope))
          << engine->registry().parameters()[i].name << " element " << j;
    }
  }
}

TEST_F(EngineTest, AddsMicroBatchesToTheGradientOfTheWholeBatch) {
  const auto whole = make_engine(4);
  const auto parts = make_engine(1);

  whole->run_micro_batch(make_rows(0, 4).view(), 0, 1, 0.5F);
  for (int i = 0; i < 4; ++i) {
    parts->run_micro_batch(make_rows(i, 1).view(), i, 4, 0.5F);
  }

  EXPECT_NEAR(parts->loss_sum(), whole->loss_sum(), 1e-4);
  const double expected = std::sqrt(whole->take_norm_squared());
  EXPECT_NEAR(std::sqrt(parts->take_norm_squared()), expected, 1e-5 * expected);
}

TEST_F(EngineTest, SumsTheGradientOfATiedEmbeddingFromBothEnds) {
  const auto tied = make_engine(2, Dtype::f32, true);
  const auto untied = make_engine(2);
  const int tied_index = tied->registry().find("model.embed_tokens.weight");
  const int embedding = untied->registry().find("model.embed_tokens.weight");
  const int head = untied->registry().find("lm_head.weight");
  for (std::size_t i = 0; i < untied->registry().parameters().size(); ++i) {
    const int index = static_cast<int>(i);
    const int source = index == head
                           ? tied_index
                           : tied->registry().find(untied->registry().parameter(index).name);
    const TensorView from = tied->store().view(Origin::master, source);
    std::copy_n(from.row<float>(0), from.count(),
                untied->store().view(Origin::master, index).row<float>(0));
  }

  tied->run_micro_batch(make_rows(0, 2).view(), 0, 1, 1.0F);
  untied->run_micro_batch(make_rows(0, 2).view(), 0, 1, 1.0F);

  const auto sum = gradient_of(*tied, tied_index);
  const auto from_embedding = gradient_of(*untied, embedding);
  const auto from_head = gradient_of(*untied, head);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    ASSERT_NEAR(sum[i], from_embedding[i] + from_head[i], 1e-4) << i;
  }
}

TEST_F(EngineTest, LowersTheLossByItsUpdates) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) {
    const auto engine = make_engine(2, compute);
    const Rows rows = make_rows(0, 2);
    const double before = engine->evaluate(rows.view());
    for (int step = 1; step <= 40; ++step) {
      engine->run_micro_batch(rows.view(), 0, 1, 1.0F / 25.0F);
      engine->update({.lr = 1e-2F,
                      .bias_correction1 = 1.0 - std::pow(0.9, step),
                      .bias_correction2 = 1.0 - std::pow(0.95, step)});
    }

    EXPECT_LT(engine->evaluate(rows.view()), 0.5 * before) << to_string(compute);
  }
}

TEST_F(EngineTest, NamesTheParameterWhoseGradientIsNotFinite) {
  const auto engine = make_engine(2);
  const int parameter = engine->registry().find("model.norm.weight");

  engine->plant_nan(parameter);
  engine->run_micro_batch(make_rows(0, 2).view(), 0, 1, 1.0F);

  EXPECT_FALSE(std::isfinite(engine->take_norm_squared()));
  EXPECT_EQ(engine->first_not_finite(), parameter);
}

TEST_F(EngineTest, TakesExactlyTheArenaItPlanned) {
  const auto engine = make_engine(2);

  const Program& program = engine->program();

  EXPECT_EQ(program.arena.bytes, program.arena.lower_bound);
  EXPECT_GE(engine->memory().bytes(), program.arena_bytes());
}

}  // namespace
}  // namespace muster::runtime
