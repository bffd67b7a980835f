#include "runtime/probe/probe_cache.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "runtime/checkpoint/hash.hpp"
#include "runtime/probe/level_fit.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

constexpr std::int64_t kThen = 1'796'123'456;
constexpr std::int64_t kNow = kThen + 100;

ProbeKey key() {
  return {.backend = "tcp",
          .hosts = {{.name = "a", .rack = "r", .ranks = 2}, {.name = "b\n\"c\"", .ranks = 1}},
          .host_of_rank = {0, 0, 1},
          .interfaces = {"1", "2"}};
}

ProbeResult result() {
  ProbeResult probe{.all_reduce_s = {{8, 1e-5}, {64, 2e-5}}};
  probe.cluster.measured_s = kThen;
  probe.cluster.hosts = key().hosts;
  probe.cluster.hosts[0].bytes_per_s = 1e10;
  probe.cluster.pairs = {{.a = 0,
                          .b = 1,
                          .latency_s = 3e-5,
                          .usual_latency_s = 9e-5,
                          .ab_bytes_per_s = 1e8,
                          .ba_bytes_per_s = 2e8}};
  return probe;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ProbeCacheTest : public testing::Test {
 protected:
  // What a file of this body, with a right first line, is refused for.
  std::string refusal_of_body(const std::string& body) {
    return refusal_of("muster probe cache 1 " + hash_of(body) + "\n" + body);
  }
  std::string refusal_of(const std::string& text) {
    fs::create_directories(fs::path(cache_.path()).parent_path());
    std::ofstream(cache_.path()) << text;
    return error_text(ErrorCode::config, [&] { cache_.load(kNow); });
  }
  std::string body() const {
    const std::string text = text_of(cache_.path());
    return text.substr(text.find('\n') + 1);
  }

  TempDir folder_;
  ProbeCache cache_{(folder_.path() / "new" / "muster").string(), key()};
};

TEST_F(ProbeCacheTest, HasNothingAtFirst) {
  EXPECT_FALSE(cache_.load(kNow));
}

TEST_F(ProbeCacheTest, KeepsWhatWasMeasuredAndWhen) {
  cache_.save(result());

  const auto found = cache_.load(kNow);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->cluster.measured_s, kThen);
  EXPECT_EQ(found->all_reduce_s, result().all_reduce_s);
  ASSERT_EQ(found->cluster.hosts.size(), 2U);
  EXPECT_EQ(found->cluster.hosts[1].name, "b\n\"c\"");
  EXPECT_DOUBLE_EQ(found->cluster.hosts[0].bytes_per_s, 1e10);
  ASSERT_EQ(found->cluster.pairs.size(), 1U);
  EXPECT_NEAR(found->cluster.pairs[0].usual_latency_s, 9e-5, 1e-10);
  EXPECT_DOUBLE_EQ(found->cluster.pairs[0].ba_bytes_per_s, 2e8);
  EXPECT_EQ(found->cluster.levels.size(), fit_levels(result().cluster).size());
}

TEST_F(ProbeCacheTest, ReplacesItsFileAndLeavesNoOther) {
  cache_.save(result());
  ProbeResult later = result();
  later.cluster.measured_s = kThen + 1;
  cache_.save(later);

  EXPECT_EQ(cache_.load(kNow)->cluster.measured_s, kThen + 1);
  const fs::directory_iterator files(fs::path(cache_.path()).parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  EXPECT_EQ(fs::status(cache_.path()).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ProbeCacheTest, SaysWhyItCannotBeWritten) {
  std::ofstream(folder_.path() / "new") << "a file where the folder should be";

  EXPECT_THAT(error_text(ErrorCode::io, [&] { cache_.save(result()); }), HasSubstr("cannot make"));
}

TEST_F(ProbeCacheTest, RefusesEveryTruncation) {
  cache_.save(result());
  const std::string whole = text_of(cache_.path());
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    refusal_of(whole.substr(0, length));
  }
  EXPECT_THAT(refusal_of(whole + " "), HasSubstr("damaged or incomplete"));
}

TEST_F(ProbeCacheTest, RefusesEveryChangedByte) {
  cache_.save(result());
  const std::string whole = text_of(cache_.path());
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    refusal_of(changed);
  }
}

TEST_F(ProbeCacheTest, RefusesOtherVersionsAndOtherFiles) {
  EXPECT_THAT(refusal_of("muster probe cache 2 0123456789abcdef\n"), HasSubstr("another version"));
  EXPECT_THAT(refusal_of("\x7f"
                         "ELF"),
              HasSubstr("no probe cache"));
}

// Whoever writes a file on purpose knows how to write the hash too.
TEST_F(ProbeCacheTest, RefusesHostileValues) {
  cache_.save(result());
  const std::string sound = body();
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = sound;
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return refusal_of_body(text.replace(at, before.size(), after));
  };
  EXPECT_THAT(refusal_of_body("["), HasSubstr("not TOML"));
  EXPECT_THAT(refusal_of_body(""), HasSubstr("other hosts"));
  EXPECT_THAT(with("backend tcp", "backend shm"), HasSubstr("other hosts"));
  EXPECT_THAT(with("bytes = 8", "bytes = -8"), HasSubstr("out of range"));
  EXPECT_THAT(with("seconds = 1e-05", "seconds = nan"), HasSubstr("out of range"));
  EXPECT_THAT(with("measured = ", "weighed = "), HasSubstr("weighed"));
  EXPECT_THAT(with("latency_us = 30", "latency_us = -30"), HasSubstr("latency_us"));
  EXPECT_THAT(with("ranks = 2", "ranks = 3"), HasSubstr("other hosts"));
}

TEST_F(ProbeCacheTest, RefusesFiguresOfTheFuture) {
  cache_.save(result());

  EXPECT_THAT(error_text(ErrorCode::config, [&] { cache_.load(kThen - 1); }),
              HasSubstr("yet to come"));
}

TEST_F(ProbeCacheTest, DoesNotWaitForAPipeNorFollowALink) {
  fs::create_directories(fs::path(cache_.path()).parent_path());
  ASSERT_EQ(::mkfifo(cache_.path().c_str(), 0600), 0);
  const auto load = [&] { cache_.load(kNow); };
  EXPECT_THAT(error_text(ErrorCode::config, load), HasSubstr("not a plain file"));
  fs::remove(cache_.path());
  fs::create_symlink("/dev/zero", cache_.path());
  EXPECT_THAT(error_text(ErrorCode::config, load), HasSubstr("not a plain file"));
}

class KeyChange : public testing::TestWithParam<std::function<void(ProbeKey&)>> {};

TEST_P(KeyChange, MakesAnotherFile) {
  ProbeKey other = key();
  GetParam()(other);

  EXPECT_NE(ProbeCache("/c", other).path(), ProbeCache("/c", key()).path());
}

INSTANTIATE_TEST_SUITE_P(Changes, KeyChange,
                         testing::Values([](ProbeKey& key) { key.backend = "shm"; },
                                         [](ProbeKey& key) { key.hosts[0].name = "x"; },
                                         [](ProbeKey& key) { key.hosts[1].rack = "x"; },
                                         [](ProbeKey& key) { key.interfaces[1] = "x"; },
                                         [](ProbeKey& key) {
                                           key.host_of_rank = {0, 1, 0};
                                         }));

TEST(CacheFolder, IsTheUsersOwn) {
  const auto folder = [](const Environment::Variables& variables) {
    return cache_folder(Environment(variables));
  };
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}), "/x/muster");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}}), "/h/.cache/muster");
  EXPECT_EQ(folder({{"HOME", "/h"}}), "/h/.cache/muster");
  EXPECT_EQ(folder({}), "");
}

}  // namespace
}  // namespace muster::runtime
