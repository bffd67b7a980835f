// Losses and gradients beside those of transformers (tests/fixtures/make_parity.py says how the
// expected values were made).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/self/self_communicator.hpp"
#include "kernels/devices.hpp"
#include "runtime/checkpoint/hf_config.hpp"
#include "runtime/checkpoint/hf_weights.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/train/weights.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kSeqLen = 32;

/// The tensors of an expected.safetensors.
class Expected {
 public:
  explicit Expected(const std::string& folder) : file_(folder + "/expected.safetensors") {}

  template <typename T>
  std::vector<T> get(const std::string& name) const {
    const TensorInfo* info = file_.find(name);
    if (info == nullptr) throw std::runtime_error("no tensor " + name);
    std::vector<T> values(static_cast<std::size_t>(info->count));
    file_.file().read(info->offset, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  SafetensorsFile file_;
};

struct Frame {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> bounds;

  MicroBatchView view() const { return {tokens, targets, positions, bounds}; }
};

/// Step `step` of tokens [20, 4, 33].
Frame frame_of(const std::vector<std::int32_t>& tokens, std::int64_t step) {
  Frame frame;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int32_t* ids = tokens.data() + (step * kRows + row) * (kSeqLen + 1);
    for (std::int64_t t = 0; t < kSeqLen; ++t) {
      frame.tokens.push_back(ids[t]);
      frame.targets.push_back(ids[t + 1]);
      frame.positions.push_back(static_cast<std::int32_t>(t));
      frame.bounds.push_back(static_cast<std::int32_t>(row * kSeqLen));
    }
  }
  return frame;
}

/// How a gradient lies to the expected one.
struct Comparison {
  double relative_error = 0.0;  // norm of the difference by norm of the expected
  double cosine = 0.0;
};

Comparison compare(const float* ours, const std::vector<float>& theirs) {
  double difference = 0.0;
  double dot = 0.0;
  double ours_squared = 0.0;
  double theirs_squared = 0.0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto a = static_cast<double>(ours[i]);
    const auto b = static_cast<double>(theirs[i]);
    difference += (a - b) * (a - b);
    dot += a * b;
    ours_squared += a * a;
    theirs_squared += b * b;
  }
  return {std::sqrt(difference / theirs_squared), dot / std::sqrt(ours_squared * theirs_squared)};
}

class Parity : public testing::TestWithParam<const char*> {
 protected:
  static std::string folder() { return std::string(MUSTER_FIXTURES) + "/parity/" + GetParam(); }

  std::unique_ptr<Engine> load(Dtype compute) {
    const EngineOptions options{
        .shape = read_hf_config(folder()), .batch = {kRows, kSeqLen}, .compute = compute};
    auto engine = std::make_unique<Engine>(options, *device_, group_);
    load_pretrained(engine->store(), engine->registry(), HfWeights(folder()));
    engine->refresh_compute_copies();
    return engine;
  }

  /// Keeps the worst of what was measured in the report of the run.
  static void record(const std::string& what, double value) {
    RecordProperty(what, fmt::format("{}", value));
  }

  /// Calls `check(name, comparison)` for the gradient of every tensor at step 0.
  template <typename Check>
  void check_gradients(Engine& engine, const Check& check) {
    const Expected expected(folder());
    const Frame frame = frame_of(expected.get<std::int32_t>("tokens"), 0);
    engine.run_micro_batch(frame.view(), 0, 1, 1.0F / static_cast<float>(kRows * kSeqLen));
    for (std::size_t i = 0; i < engine.registry().parameters().size(); ++i) {
      const float* ours = engine.store().view(Origin::gradient, static_cast<int>(i)).row<float>(0);
      for (const LogicalTensor& tensor : engine.registry().parameters()[i].tensors) {
        const auto theirs = expected.get<float>("grad." + tensor.name);
        ASSERT_EQ(static_cast<std::int64_t>(theirs.size()), tensor.count()) << tensor.name;
        check(tensor.name, compare(ours + tensor.begin, theirs));
      }
    }
  }

  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", {.threads = 1});
  collectives::SelfCommunicator group_{{.name = "data", .hosts = {"here"}}, *device_};
};

TEST_P(Parity, FollowsTwentyStepsOfAdamw) {
  const auto engine = load(Dtype::f32);
  const Expected expected(folder());
  const auto tokens = expected.get<std::int32_t>("tokens");
  const auto losses = expected.get<double>("losses");
  const auto norms = expected.get<double>("grad_norms");
  constexpr double kTargets = kRows * kSeqLen;
  double largest = 0.0;

  for (std::int64_t step = 0; step < 20; ++step) {
    const Frame frame = frame_of(tokens, step);
    engine->run_micro_batch(frame.view(), 0, 1, static_cast<float>(1.0 / kTargets));
    const double loss = losses[static_cast<std::size_t>(step)];
    largest = std::max(largest, std::abs(engine->loss_sum() / kTargets - loss) / loss);
    // The bar of the project: 1e-5 relative at every step.
    ASSERT_NEAR(engine->loss_sum() / kTargets, loss, 1e-5 * loss) << "step " << step;
    const double norm = std::sqrt(engine->take_norm_squared());
    EXPECT_NEAR(norm, norms[static_cast<std::size_t>(step)], 1e-4 * norm) << "step " << step;
    const auto t = static_cast<double>(step + 1);
    engine->update({.lr = 1e-3F,
                    .gradient_scale = static_cast<float>(std::min(1.0, 1.0 / (norm + 1e-6))),
                    .bias_correction1 = 1.0 - std::pow(0.9, t),
                    .bias_correction2 = 1.0 - std::pow(0.95, t)});
  }
  record("largest_loss_error", largest);
}

TEST_P(Parity, GivesTheGradientOfEveryParameter) {
  const auto engine = load(Dtype::f32);
  double largest = 0.0;

  check_gradients(*engine, [&](const std::string& name, const Comparison& comparison) {
    EXPECT_LE(comparison.relative_error, 1e-5) << name;
    largest = std::max(largest, comparison.relative_error);
  });
  record("largest_gradient_error", largest);
}

TEST_P(Parity, KeepsTheDirectionOfGradientsInBf16) {
  const auto engine = load(Dtype::bf16);
  double smallest = 1.0;

  check_gradients(*engine, [&](const std::string& name, const Comparison& comparison) {
    EXPECT_GT(comparison.cosine, 0.999) << name;
    smallest = std::min(smallest, comparison.cosine);
  });
  record("smallest_bf16_cosine", smallest);
}

INSTANTIATE_TEST_SUITE_P(Models, Parity,
                         testing::Values("tiny-llama", "tiny-qwen2", "tiny-gqa", "tiny-geglu"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace muster::runtime
