#include "runtime/checkpoint/hash.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

TEST(Hash, HasThePublishedValues) {
  EXPECT_EQ(hash_of(std::string_view("")), "ef46db3751d8e999");
  EXPECT_EQ(hash_of(std::string_view("abc")), "44bc2cf5ad770999");
}

TEST(Hash, DoesNotDependOnHowBytesArePieced) {
  const std::string text(1000, 'q');
  Hash hash;

  for (std::size_t at = 0; at < text.size(); at += 7) {
    hash.add(std::as_bytes(std::span(text)).subspan(at, std::min<std::size_t>(7, 1000 - at)));
  }

  EXPECT_EQ(hash.digits(), hash_of(text));
}

}  // namespace
}  // namespace muster::runtime
