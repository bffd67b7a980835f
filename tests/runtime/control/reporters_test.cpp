#include "runtime/control/reporters.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "runtime/control/packet_socket.hpp"

namespace muster::runtime {
namespace {

TEST(ProgressLine, ShowsEveryNumberThatIsKnown) {
  const Progress progress{.step = 120,
                          .steps = 2000,
                          .loss = 2.34512,
                          .lr = 3e-4,
                          .tokens_per_s = 1234567.8,
                          .gradient_norm = 0.8712,
                          .step_seconds = 0.1182,
                          .eta_s = 192.3,
                          .memory_bytes = 1.5 * 1024 * 1024 * 1024};

  EXPECT_EQ(progress_line(progress),
            "step 120/2000  loss 2.3451  lr 3.00e-04  1,234,568 tokens/s  grad 0.871  118 ms/step"
            "  1.50 GiB  left 3m12s");
}

TEST(ProgressLine, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(progress_line({.step = 1, .steps = 2, .loss = 5.5, .lr = 1e-3}),
            "step 1/2  loss 5.5000  lr 1.00e-03");
}

TEST(ProgressLine, WritesLongTimesInHours) {
  const std::string line =
      progress_line({.step = 1, .steps = 2, .step_seconds = 2.5, .eta_s = 7325});

  EXPECT_NE(line.find("2.5 s/step"), std::string::npos) << line;
  EXPECT_NE(line.find("left 2h02m"), std::string::npos) << line;
}

TEST(LineInterval, TakesTheFirstEveryIntervalAndTheLast) {
  LineInterval interval(10);
  std::vector<int> due;

  for (int step = 7; step <= 33; ++step) {
    if (interval.is_due({.step = step, .steps = 33}, {})) due.push_back(step);
  }

  EXPECT_EQ(due, (std::vector<int>{7, 10, 20, 30, 33}));
}

TEST(LineInterval, TakesAStepWhenTenSecondsWerePassedInSilence) {
  LineInterval interval(1000);
  const LineInterval::Clock::time_point begin{};
  std::vector<int> due;

  for (int step = 1; step <= 9; ++step) {
    const auto now = begin + step * std::chrono::seconds(4);
    if (interval.is_due({.step = step, .steps = 100}, now)) due.push_back(step);
  }

  EXPECT_EQ(due, (std::vector<int>{1, 4, 7}));
}

TEST(PrintReporter, WritesWholeLinesWithoutControlCharacters) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = ::open_memstream(&text, &size);
  PrintReporter reporter(file, 2);

  reporter.lines("table");
  reporter.lines("row 1\nrow 2\n");
  for (int step = 1; step <= 3; ++step) reporter.progress({.step = step, .steps = 9});
  std::fclose(file);
  const std::string written(text, size);
  std::free(text);

  EXPECT_EQ(written,
            "table\nrow 1\nrow 2\nstep 1/9  loss 0.0000  lr 0.00e+00\n"
            "step 2/9  loss 0.0000  lr 0.00e+00\n");
}

TEST(PrintReporter, SaysThatTheFileIsFull) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  PrintReporter reporter(full, 1);

  EXPECT_THROW(reporter.lines("text"), Error);
  std::fclose(full);
}

/// What a launcher's end has received, once the link is gone.
std::vector<Message> received_by(int launcher) {
  std::vector<Message> messages;
  for (Received next = receive(launcher, true); !next.is_closed; next = receive(launcher, true)) {
    messages.push_back(*next.message);
  }
  return messages;
}

TEST(LauncherReporter, AlwaysSendsWhatIsDueAndFewOfTheOthers) {
  constexpr int kSteps = 1000;
  constexpr int kInterval = 100;
  auto [launcher, rank] = make_control_pair();
  {
    LauncherLink link(std::move(rank), {});
    LauncherReporter reporter(link, kInterval);
    for (int step = 1; step <= kSteps; ++step) {
      reporter.progress({.step = step, .steps = kSteps});
    }
  }

  const std::vector<Message> messages = received_by(launcher.number());

  std::vector<std::int64_t> due;
  for (const Message& message : messages) {
    const auto& progress = std::get<ProgressMessage>(message);
    if (progress.is_due) due.push_back(progress.progress.step);
  }
  EXPECT_EQ(due, (std::vector<std::int64_t>{1, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}));
  EXPECT_LT(messages.size(), kSteps / 2);  // the loop takes far less than 50 s
}

TEST(LauncherReporter, CutsALongTextBetweenLines) {
  auto [launcher, rank] = make_control_pair();
  const std::string line(kMaxMessageText / 2, 'x');
  {
    LauncherLink link(std::move(rank), {});
    LauncherReporter reporter(link, 1);
    reporter.lines(line + "\n" + line + "\n" + "end\n");
  }

  std::string joined;
  for (const Message& message : received_by(launcher.number())) {
    joined += std::get<LinesMessage>(message).text + "\n";
  }

  EXPECT_EQ(joined, line + "\n" + line + "\n" + "end\n");
}

}  // namespace
}  // namespace muster::runtime
