#include "runtime/dataset/token_stream.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TokenStream stream_of(const std::vector<std::vector<std::int32_t>>& documents) {
  TokenStream stream;
  std::int64_t line = 0;
  for (const auto& ids : documents) stream.add(ids, "data.jsonl", ++line);
  return stream;
}

TEST(TokenStream, KnowsWhereDocumentsBeginAndEnd) {
  const TokenStream stream = stream_of({{1, 2}, {3}, {4, 5, 6}});

  EXPECT_EQ(stream.size(), 6);
  EXPECT_EQ(stream.documents(), 3);
  EXPECT_EQ(stream.begin_of(1), 2);
  EXPECT_EQ(stream.end_of(1), 3);
  EXPECT_EQ(stream.end_of(2), 6);
  EXPECT_EQ(stream.place_of(2), "data.jsonl:3");
  std::vector<std::int64_t> owners;
  for (std::int64_t at = 0; at < 6; ++at) owners.push_back(stream.document_at(at));
  EXPECT_THAT(owners, ElementsAre(0, 0, 1, 2, 2, 2));
}

TEST(LoadText, EndsEveryDocumentOfEverySourceWithEos) {
  const TempDir dir;
  const auto tokenizer = make_byte_tokenizer();

  const LoadedText text =
      load_text({{dir.write("a.txt", "hi"), "auto"},
                 {dir.write("b.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}"), "auto"}},
                "fail", *tokenizer);

  EXPECT_THAT(text.stream.tokens(), ElementsAre('h', 'i', 257, 'a', 257, 'b', 257));
  EXPECT_EQ(text.stream.place_of(0), dir.path("a.txt") + ":1");
  EXPECT_EQ(text.stream.place_of(2), dir.path("b.jsonl") + ":2");
}

TEST(LoadText, AddsUpSkippedRows) {
  const TempDir dir;
  const auto tokenizer = make_byte_tokenizer();

  const LoadedText text = load_text({{dir.write("a.jsonl", "{\"text\":\"a\"}"), "auto"},
                                     {dir.write("b.jsonl", "{}\n{\"text\":\"b\"}"), "auto"},
                                     {dir.write("c.jsonl", "[]\n{\"text\":\"b\"}\n1"), "auto"}},
                                    "skip", *tokenizer);

  EXPECT_EQ(text.skipped.count, 3);
  EXPECT_THAT(text.skipped.first, HasSubstr("b.jsonl:1"));
}

TEST(CheckIds, NamesTheFirstIdTheModelHasNoRowFor) {
  const TokenStream stream = stream_of({{1, 2, 9}, {3, 256, 300, 9}});

  const std::string text = error_text(ErrorCode::config, [&] { check_ids(stream, 256); });

  EXPECT_THAT(text, AllOf(HasSubstr("token id 256 at token 2"), HasSubstr("data.jsonl:2"),
                          HasSubstr("[0, 256)")));
  EXPECT_NO_THROW(check_ids(stream, 301));
}

TEST(CheckIds, RefusesANegativeIdAndSaysWhenItIsTheEndOfADocument) {
  EXPECT_THAT(error_text(ErrorCode::config,
                         [] {
                           check_ids(stream_of({{5, -1, 6}}), 256);
                         }),
              HasSubstr("token id -1 at token 2"));
  EXPECT_THAT(error_text(ErrorCode::config,
                         [] {
                           check_ids(stream_of({{5, 257}}), 256);
                         }),
              HasSubstr("token id 257 (end of document) at token 2"));
}

TEST(Split, CutsTheOnlyDocumentAtAToken) {
  const auto [train, validation] = split(stream_of({{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 257}}), 0.25);

  EXPECT_THAT(train.tokens(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(validation.tokens(), ElementsAre(7, 8, 9, 257));
}

TEST(Split, KeepsNineTenthsOfACorpusAsOthersDo) {
  std::vector<std::int32_t> ids(1'115'394, 65);
  ids.push_back(257);

  const auto [train, validation] = split(stream_of({ids}), 0.1);

  EXPECT_EQ(train.size(), 1'003'854);
  EXPECT_EQ(validation.size(), 111'540 + 1);
}

TEST(Split, CutsSeveralDocumentsBetweenThem) {
  const TokenStream stream = stream_of({{1, 9}, {2, 2, 2, 9}, {3, 9}, {4, 9}});

  const auto [train, validation] = split(stream, 0.2);

  EXPECT_THAT(train.tokens(), ElementsAre(1, 9, 2, 2, 2, 9, 3, 9));
  EXPECT_THAT(validation.tokens(), ElementsAre(4, 9));
  EXPECT_EQ(validation.place_of(0), "data.jsonl:4");
}

TEST(Split, LeavesADocumentOnEachSide) {
  const TokenStream stream = stream_of({{1, 9}, {2, 9}});

  for (const double part : {0.001, 0.999}) {
    const auto [train, validation] = split(stream, part);

    EXPECT_EQ(train.documents(), 1) << part;
    EXPECT_EQ(validation.documents(), 1) << part;
  }
}

TEST(Split, RefusesToLeaveNothing) {
  for (const double part : {0.001, 0.999}) {
    const std::string text = error_text(ErrorCode::config, [&] {
      split(stream_of({{1, 257}}), part);
    });

    EXPECT_THAT(text, AllOf(HasSubstr("validation.split"), HasSubstr("of the 1 tokens")));
  }
}

}  // namespace
}  // namespace muster::runtime
