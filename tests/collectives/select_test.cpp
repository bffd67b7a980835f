#include "collectives/select.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/algorithms/list.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 10 us per message, 1 GB/s, 10 GB/s reduced: round numbers for sums by hand.
constexpr LinkProfile kLink = {
    .alpha_s = 10e-6, .beta_s_per_byte = 1e-9, .gamma_s_per_byte = 1e-10};

std::string_view choice(CallKind kind, std::size_t bytes, int size,
                        const AlgorithmTable& table = AlgorithmTable(kLink)) {
  return table.choose(kind, bytes, size).name;
}

TEST(AlgorithmTable, LetsTwoRanksExchangeAllUntilReducingHalfIsWorthAMessage) {
  // direct: alpha + S (beta + gamma); pairwise: 2 alpha + S (beta + gamma / 2): 10 us = S gamma
  // / 2.
  EXPECT_EQ(choice(CallKind::all_reduce, 8, 2), "direct");
  EXPECT_EQ(choice(CallKind::all_reduce, 199'000, 2), "direct");
  EXPECT_EQ(choice(CallKind::all_reduce, 201'000, 2), "pairwise");
}

TEST(AlgorithmTable, LetsEightRanksGatherSmallVectorsAndShareOutLargeOnes) {
  // bruck: 30 us + 7 S (1.1 ns); pairwise: 140 us + S (1.75 ns + 0.0875 ns):
  // 110 us = S * 5.8625 ns, S = 18763.
  EXPECT_EQ(choice(CallKind::all_reduce, 8, 8), "bruck");
  EXPECT_EQ(choice(CallKind::all_reduce, 18'700, 8), "bruck");
  EXPECT_EQ(choice(CallKind::all_reduce, 18'800, 8), "pairwise");
}

TEST(AlgorithmTable, BroadcastsByTreeThenByChain) {
  // n = 4: binomial 20 us + 2 S beta. A chain of one piece: 30 us + 3 S beta. From two pieces on,
  // 256 KiB each, it is (2 + m) (10 us + 262 us) against 20 us + m * 524 us.
  EXPECT_EQ(choice(CallKind::broadcast, 64, 4), "binomial");
  EXPECT_EQ(choice(CallKind::broadcast, 16 << 10, 4), "binomial");
  EXPECT_EQ(choice(CallKind::broadcast, 64 << 20, 4), "chain");
  // n = 64 and 1 MiB: binomial 6.4 ms, chain of 4 pieces 66 * 272 us = 18 ms, scatter and
  // all-gather 690 us + 2.1 ms.
  EXPECT_EQ(choice(CallKind::broadcast, 1 << 20, 64), "scatter_all_gather");
}

TEST(AlgorithmTable, GathersDirectlyWhereCopiesCostMoreThanMessages) {
  // n = 8: a tree saves 4 messages, 40 us, and copies S at 10 GB/s: 400 kB.
  EXPECT_EQ(choice(CallKind::gather, 390'000, 8), "binomial");
  EXPECT_EQ(choice(CallKind::gather, 410'000, 8), "direct");
  EXPECT_EQ(choice(CallKind::scatter, 390'000, 8), "binomial");
  EXPECT_EQ(choice(CallKind::all_gather, 390'000, 8), "bruck");
  EXPECT_EQ(choice(CallKind::all_gather, 410'000, 8), "pairwise");
}

TEST(AlgorithmTable, LetsSmallBlocksTravelTogether) {
  // n = 8: bruck 30 us + 3 S (0.5 + 0.1) ns, pairwise 70 us + S * 0.875 ns: 40 us = S * 0.925 ns.
  EXPECT_EQ(choice(CallKind::all_to_all, 43'000, 8), "bruck");
  EXPECT_EQ(choice(CallKind::all_to_all, 43'500, 8), "pairwise");
}

TEST(AlgorithmTable, KeepsTheOrderOfRanksUnlessToldOtherwise) {
  for (const int size : {2, 3, 8, 64, 1024}) {
    for (std::size_t bytes = 4; bytes < (std::size_t{1} << 32); bytes *= 4) {
      for (const CallKind kind :
           {CallKind::all_reduce, CallKind::reduce, CallKind::reduce_scatter}) {
        EXPECT_TRUE(AlgorithmTable(kLink).choose(kind, bytes, size).keeps_rank_order);
      }
    }
  }
}

TEST(AlgorithmTable, UsesWhatIsNamed) {
  AlgorithmTable table(kLink);

  table.use("all_reduce=halving_doubling;broadcast=chain");

  EXPECT_EQ(choice(CallKind::all_reduce, 8, 8, table), "halving_doubling");
  EXPECT_EQ(choice(CallKind::broadcast, 8, 8, table), "chain");
  EXPECT_EQ(choice(CallKind::all_gather, 8, 8, table), "bruck");
}

TEST(AlgorithmTable, UsesANameAloneForEveryKindThatHasIt) {
  AlgorithmTable table(kLink);

  table.use("ring");

  EXPECT_EQ(choice(CallKind::all_reduce, 8, 8, table), "ring");
  EXPECT_EQ(choice(CallKind::all_gather_v, 8, 8, table), "ring");
  EXPECT_EQ(choice(CallKind::broadcast, 8, 8, table), "binomial");
}

TEST(AlgorithmTable, TakesNamesBack) {
  AlgorithmTable table(kLink);
  table.use("ring;broadcast=chain");

  table.use("all_reduce=auto");
  EXPECT_EQ(choice(CallKind::all_reduce, 8, 8, table), "bruck");
  EXPECT_EQ(choice(CallKind::broadcast, 8, 8, table), "chain");

  table.use("auto");
  EXPECT_EQ(table, AlgorithmTable(kLink));
}

TEST(AlgorithmTable, NamesWhatThereIsForAnUnknownName) {
  AlgorithmTable table;

  EXPECT_THAT(error_text(ErrorCode::config, [&] { table.use("rnig"); }),
              AllOf(HasSubstr("no collective has an algorithm \"rnig\""), HasSubstr("auto, "),
                    HasSubstr("halving_doubling")));
  EXPECT_THAT(error_text(ErrorCode::config, [&] { table.use("broadcast=ring"); }),
              AllOf(HasSubstr("broadcast has no algorithm \"ring\""),
                    HasSubstr("auto, binomial, chain, scatter_all_gather")));
  EXPECT_THAT(error_text(ErrorCode::config, [&] { table.use("allreduce=ring"); }),
              AllOf(HasSubstr("no collective \"allreduce\""), HasSubstr("all_reduce, ")));
  EXPECT_EQ(table, AlgorithmTable());
}

TEST(AlgorithmTable, ShowsOfAHostileNameWhatCanBeRead) {
  AlgorithmTable table;

  const std::string text =
      error_text(ErrorCode::config, [&] { table.use("\x1b[2J" + std::string(100'000, 'x')); });

  EXPECT_THAT(text, HasSubstr("\"?[2Jxxx"));
  EXPECT_LT(text.size(), 500U);
}

TEST(AlgorithmTable, ChangesNothingIfOneOfSeveralNamesIsUnknown) {
  AlgorithmTable table;

  error_text(ErrorCode::config, [&] { table.use("all_reduce=ring;broadcast=ring"); });

  EXPECT_EQ(table, AlgorithmTable());
}

TEST(AlgorithmTable, TellsWhichWordIsUnknownAndWhatCouldStandThere) {
  const std::string text = "ring;all_reduce=rnig";
  const auto unknown = AlgorithmTable::find_unknown(text);

  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->word, "rnig");
  EXPECT_EQ(unknown->kind, CallKind::all_reduce);
  EXPECT_EQ(unknown->known.front(), "auto");
  EXPECT_EQ(unknown->known.size(), algorithm_names(CallKind::all_reduce).size() + 1);
  EXPECT_TRUE(AlgorithmTable::find_unknown("=ring")->is_kind);
  for (const char* sound : {"", "ring", "ring;all_reduce=auto", "auto"}) {
    EXPECT_FALSE(AlgorithmTable::find_unknown(sound).has_value()) << sound;
  }
}

TEST(AlgorithmTable, SaysItsNamesInTheFormThatItTakes) {
  AlgorithmTable table;
  EXPECT_EQ(table.names(), "auto");
  EXPECT_EQ(table.named(CallKind::all_reduce), "");

  table.use("broadcast=chain;all_reduce=tree");

  EXPECT_EQ(table.names(), "all_reduce=tree;broadcast=chain");
  EXPECT_EQ(table.named(CallKind::all_reduce), "tree");
}

TEST(AlgorithmTable, IsTheSameAfterATripThroughText) {
  AlgorithmTable table({.alpha_s = 4.6e-6, .beta_s_per_byte = 1.0 / 3.0e9});
  table.use("all_reduce=tree;gather=direct");

  const AlgorithmTable again = AlgorithmTable::parse(table.to_text());

  EXPECT_EQ(again, table);
  EXPECT_EQ(again.profile().beta_s_per_byte, 1.0 / 3.0e9);
}

TEST(AlgorithmTable, RefusesTextThatIsNoTable) {
  for (const std::string_view text :
       {"", "ring", "alpha_s=1", "alpha_s=x;beta_s_per_byte=1;gamma_s_per_byte=1",
        "alpha_s=-1;beta_s_per_byte=1;gamma_s_per_byte=1",
        "alpha_s=inf;beta_s_per_byte=1;gamma_s_per_byte=1",
        "alpha_s=nan;beta_s_per_byte=1;gamma_s_per_byte=1",
        "alpha_s=1;beta_s_per_byte=1;gamma_s_per_byte=1;all_reduce=none"}) {
    error_text(ErrorCode::config, [&] { AlgorithmTable::parse(text); });
  }
}

}  // namespace
}  // namespace muster::collectives
