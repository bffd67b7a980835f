#include "runtime/tokenizer/tokenizer.hpp"

#include <array>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ByteTokenizer, HasAnIdForEveryByteAndThreeSpecials) {
  const auto tokenizer = make_byte_tokenizer();

  EXPECT_EQ(tokenizer->vocab_size(), 259);
  EXPECT_EQ(tokenizer->bos(), 256);
  EXPECT_EQ(tokenizer->eos(), 257);
  EXPECT_EQ(tokenizer->pad(), 258);
  EXPECT_THAT(tokenizer->encode("a\xff\n"), ElementsAre(97, 255, 10));
  EXPECT_TRUE(tokenizer->encode("").empty());
}

TEST(ByteTokenizer, GivesEveryByteBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const auto tokenizer = make_byte_tokenizer();

  EXPECT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes);
}

TEST(ByteTokenizer, DecodesSpecialsToNothing) {
  const std::array<std::int32_t, 5> ids = {256, 104, 258, 105, 257};

  EXPECT_EQ(make_byte_tokenizer()->decode(ids), "hi");
}

TEST(ByteTokenizer, RefusesAnIdThatIsNotItsOwn) {
  for (const std::int32_t id : {-1, 259}) {
    const std::array<std::int32_t, 1> ids = {id};

    const std::string text =
        error_text(ErrorCode::invalid_argument, [&] { make_byte_tokenizer()->decode(ids); });

    EXPECT_THAT(text, AllOf(HasSubstr(std::to_string(id)), HasSubstr("[0, 259)")));
  }
}

TEST(OpenTokenizer, GivesBytesWithoutAPathAndNamesWhatItCannotRead) {
  EXPECT_EQ(open_tokenizer({})->vocab_size(), 259);

  const std::string text =
      error_text(ErrorCode::unsupported, [] { open_tokenizer({.path = "/m/tokenizer.json"}); });

  EXPECT_THAT(text, AllOf(HasSubstr("/m/tokenizer.json"), HasSubstr("bytes")));
}

}  // namespace
}  // namespace muster::runtime
