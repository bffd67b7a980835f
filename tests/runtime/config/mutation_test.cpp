#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "runtime/config/job.hpp"
#include "tests/runtime/config/job_text.hpp"
#include "tests/support/mutate.hpp"

namespace muster::runtime {
namespace {

TEST(ParseJob, RefusesADamagedFileOrGivesAJobThatCanBePrintedAndLoadedAgain) {
  const std::string whole = to_toml(parse_job(small_job(), "/j/job.toml", {}));
  Mutator mutator(18);
  int loaded = 0;

  for (int i = 0; i < 2000; ++i) {
    std::string printed;
    try {
      printed = to_toml(parse_job(mutator.mutate(whole), "/j/job.toml", {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
      continue;
    }
    ++loaded;
    EXPECT_EQ(to_toml(parse_job(printed, "/j/job.toml", {})), printed);
  }

  EXPECT_GT(loaded, 10);
}

TEST(ParseJob, RefusesOrTakesADamagedOverride) {
  Mutator mutator(18);
  int taken = 0;

  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutator.mutate("data.train=[{path=\"/a\", format=\"text\"}]");
    try {
      parse_job(small_job(), "/j/job.toml", {text});
      ++taken;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
    }
  }

  EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace muster::runtime
