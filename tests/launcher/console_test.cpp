#include "launcher/console.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

/// A console that writes "O:text" and "E:text" into a string.
class ConsoleTest : public testing::Test {
 protected:
  Console make(bool is_out, bool is_err) {
    return Console({.is_out = is_out, .is_err = is_err, .columns = [this] { return columns_; }},
                   [this](Stream stream, const std::string& text) {
                     written_ += (stream == Stream::out ? "O:" : "E:") + text;
                   });
  }

  int columns_ = 80;
  std::string written_;
};

runtime::ProgressMessage step(int number, bool is_due) {
  return {{.step = number, .steps = 9, .loss = 1.5, .lr = 0.5}, is_due};
}

TEST_F(ConsoleTest, PrefixesLinesOfRanksAndNotTheReport) {
  Console console = make(false, false);

  console.report("table\nrow\n");
  console.rank_line(3, Stream::err, "oops");
  console.notice("ending");

  EXPECT_EQ(written_, "O:table\nO:row\nE:[3] oops\nE:muster: ending\n");
}

TEST_F(ConsoleTest, WritesOnlyDueProgressIntoAFile) {
  Console console = make(false, true);

  console.progress(step(1, true));
  console.progress(step(2, false));
  console.settle();

  EXPECT_EQ(written_, "O:step 1/9  loss 1.5000  lr 5.00e-01\n");
}

TEST_F(ConsoleTest, RedrawsTheLineBelowWhatIsPrinted) {
  Console console = make(true, true);

  console.progress(step(1, false));
  written_.clear();
  console.rank_line(1, Stream::err, "text");

  EXPECT_EQ(written_, "O:\r\x1b[KE:[1] text\nO:step 1/9  loss 1.5000  lr 5.00e-01");
}

TEST_F(ConsoleTest, LeavesTheLineAloneWhenErrorsGoToAFile) {
  Console console = make(true, false);

  console.progress(step(1, false));
  written_.clear();
  console.rank_line(1, Stream::err, "text");

  EXPECT_EQ(written_, "E:[1] text\n");
}

TEST_F(ConsoleTest, CutsTheRedrawnLineToTheTerminal) {
  Console console = make(true, true);
  columns_ = 9;

  console.progress(step(1, false));

  EXPECT_EQ(written_, "O:\r\x1b[KO:step 1/9");
}

TEST_F(ConsoleTest, LeavesTheLastLineStanding) {
  Console console = make(true, true);

  console.progress(step(9, true));
  console.settle();
  written_.clear();
  console.notice("done");
  console.settle();

  EXPECT_EQ(written_, "E:muster: done\n");
}

}  // namespace
}  // namespace muster::launcher
