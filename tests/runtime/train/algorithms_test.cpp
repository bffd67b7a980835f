#include "runtime/train/algorithms.hpp"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/plan/plan_file.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using collectives::AlgorithmTable;
using collectives::CallKind;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A job whose output folder remembers a run of four ranks over tcp with a tree.
class Algorithms : public testing::Test {
 protected:
  Algorithms() {
    config_.file = "job.toml";
    config_.job.output_dir = folder_.path().string();
    AlgorithmTable table;
    table.use("all_reduce=tree");
    write_plan_file(
        config_.job.output_dir,
        {.world = 4, .data_degree = 4, .backend = "tcp", .algorithms = table.to_text()});
  }

  std::string all_reduce_of(const AlgorithmDecision& decision) {
    return decision.table ? std::string(decision.table->named(CallKind::all_reduce)) : "no table";
  }

  TempDir folder_;
  JobConfig config_;
};

TEST_F(Algorithms, AreThoseOfTheRecord) {
  const AlgorithmDecision decision = decide_algorithms(config_, std::nullopt, 4, "tcp");

  EXPECT_EQ(all_reduce_of(decision), "tree");
  EXPECT_FALSE(decision.is_open);
  EXPECT_THAT(decision.remark, AllOf(HasSubstr("all_reduce=tree, as recorded in "),
                                     HasSubstr(plan_file(config_.job.output_dir))));
}

TEST_F(Algorithms, AreChosenAnewForAnotherWorldOrBackEnd) {
  const AlgorithmDecision other_world = decide_algorithms(config_, std::nullopt, 3, "tcp");
  const AlgorithmDecision other_backend =
      decide_algorithms(config_, std::nullopt, 4, "hierarchical");

  EXPECT_EQ(other_world.table, AlgorithmTable());
  EXPECT_EQ(other_backend.table, AlgorithmTable());
  EXPECT_THAT(other_world.remark, HasSubstr("chosen anew"));
  EXPECT_THAT(other_backend.remark, HasSubstr("is of 4 ranks over tcp"));
}

TEST_F(Algorithms, OfTheJobFileWinOverTheRecordAndThoseOfTheEnvironmentOverBoth) {
  config_.comm.algo = "all_reduce=ring";

  EXPECT_EQ(all_reduce_of(decide_algorithms(config_, std::nullopt, 4, "tcp")), "ring");
  const AlgorithmDecision decision = decide_algorithms(config_, "all_reduce=bruck", 4, "tcp");
  EXPECT_EQ(all_reduce_of(decision), "bruck");
  EXPECT_THAT(decision.remark, HasSubstr("as MUSTER_ALGO says"));
  config_.comm.algo = "auto";
  EXPECT_EQ(decide_algorithms(config_, std::nullopt, 4, "tcp").table, AlgorithmTable());
  EXPECT_TRUE(decide_algorithms(config_, std::nullopt, 4, "tcp").is_open);
}

TEST_F(Algorithms, AreTheCheapestWhereNobodySaysAnything) {
  config_.job.output_dir = folder_.path("elsewhere");

  const AlgorithmDecision decision = decide_algorithms(config_, std::nullopt, 4, "tcp");

  EXPECT_EQ(decision.table, AlgorithmTable());
  EXPECT_EQ(decision.remark, "");
  EXPECT_TRUE(decision.is_open);
}

// A message more costs little where bytes are dear, and much where starts are.
TEST_F(Algorithms, DependOnWhatTheLinksDo) {
  AlgorithmDecision dear_bytes = decide_algorithms(config_, "auto", 4, "tcp");
  AlgorithmDecision dear_starts{.is_open = true};
  decide_by_links({.alpha_s = 1e-6, .beta_s_per_byte = 1e-7}, dear_bytes);
  decide_by_links({.alpha_s = 1e-2, .beta_s_per_byte = 1e-9}, dear_starts);
  constexpr std::size_t kBytes = 256 << 10;

  EXPECT_NE(&dear_bytes.table->choose(CallKind::all_reduce, kBytes, 8),
            &dear_starts.table->choose(CallKind::all_reduce, kBytes, 8));
  EXPECT_FALSE(dear_bytes.is_open);
  EXPECT_EQ(
      dear_bytes.remark,
      "algorithms: auto, as MUSTER_ALGO says: the cheapest over links of 1 us and 0.01 GB/s, as "
      "measured");
  EXPECT_THAT(dear_starts.remark, StartsWith("algorithms: the cheapest over links of 1e+04 us"));
}

TEST_F(Algorithms, AreNotThereWithoutAChoiceAndNotToBeNamed) {
  EXPECT_EQ(decide_algorithms(config_, "ring", 4, "shm").table, std::nullopt);

  config_.comm.algo = "ring";

  EXPECT_THAT(
      error_text(ErrorCode::config, [&] { decide_algorithms(config_, std::nullopt, 4, "shm"); }),
      AllOf(HasSubstr("job.toml: comm.algo = \"ring\""), HasSubstr("the back end shm"),
            HasSubstr("hierarchical and tcp have")));
}

TEST_F(Algorithms, AreRefusedByNameWhereTheyDoNotExist) {
  EXPECT_THAT(error_text(ErrorCode::config, [&] { decide_algorithms(config_, "rnig", 4, "tcp"); }),
              HasSubstr("MUSTER_ALGO = \"rnig\""));
}

TEST_F(Algorithms, CannotBeReadFromADamagedRecordUnlessNamed) {
  folder_.write("plan.json", "{\"format\": 1,");

  EXPECT_THAT(
      error_text(ErrorCode::config, [&] { decide_algorithms(config_, std::nullopt, 4, "tcp"); }),
      HasSubstr("plan.json"));
  config_.comm.algo = "ring";
  EXPECT_EQ(all_reduce_of(decide_algorithms(config_, std::nullopt, 4, "tcp")), "ring");
}

/// One store for several worlds, each of which owns its own.
class SharedStore final : public collectives::Store {
 public:
  explicit SharedStore(collectives::Store& store) : store_(store) {}

  void set(std::string_view key, std::string_view value) override { store_.set(key, value); }
  std::string get(std::string_view key, Deadline deadline) override {
    return store_.get(key, deadline);
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    return store_.add(key, delta);
  }

 private:
  collectives::Store& store_;
};

/// agree_on_algorithms() of ranks whose jobs say different things; what each got, or its error.
std::vector<std::string> agreed(const std::vector<JobConfig>& configs) {
  MemoryStore table;
  std::vector<std::string> texts(configs.size());
  std::vector<std::thread> ranks;
  ranks.reserve(configs.size());
  for (std::size_t rank = 0; rank < configs.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      World world;
      world.rank = static_cast<int>(rank);
      world.size = static_cast<int>(configs.size());
      world.store = std::make_unique<SharedStore>(table);
      try {
        texts[rank] = agree_on_algorithms(configs[rank], world, "tcp").table->to_text();
      } catch (const Error& error) {
        texts[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return texts;
}

TEST_F(Algorithms, OfRankZeroHoldForAll) {
  std::vector<JobConfig> configs(3, config_);
  configs[0].comm.algo = "all_reduce=ring";
  configs[1].comm.algo = "all_reduce=bruck";

  const std::vector<std::string> texts = agreed(configs);

  EXPECT_THAT(texts[0], HasSubstr("all_reduce=ring"));
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[2], texts[0]);
}

TEST_F(Algorithms, ErrorsOfRankZeroReachAll) {
  std::vector<JobConfig> configs(3, config_);
  configs[0].comm.algo = "none";

  const std::vector<std::string> texts = agreed(configs);

  EXPECT_THAT(texts[0], HasSubstr("config: comm.algo = \"none\""));
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[2], texts[0]);
}

}  // namespace
}  // namespace muster::runtime
