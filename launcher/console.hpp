#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/control/message.hpp"

namespace muster::launcher {

enum class Stream { out, err };

/// What a person sees: the report of rank 0, lines of ranks, notices of the launcher, and the state
/// of the run: on a terminal one line that is drawn anew below everything else, elsewhere a whole
/// line when one is due. One thread.
class Console {
 public:
  struct Terminals {
    bool is_out = false;           // standard output is a terminal
    bool is_err = false;           // standard error is one
    std::function<int()> columns;  // its width now; used when is_out
  };
  /// Puts text on a stream, as it is.
  using Put = std::function<void(Stream, std::string)>;

  Console(Terminals terminals, Put put);

  /// Whole lines for standard output.
  void report(std::string_view text);
  /// One line that a rank wrote: "[3] line".
  void rank_line(int rank, Stream stream, std::string_view line);
  /// A line of the launcher's own, on standard error: "muster: text".
  void notice(std::string_view text);
  void progress(const runtime::ProgressMessage& message);
  /// Leaves the redrawn line standing; what follows comes below it.
  void settle();

 private:
  void line(Stream stream, std::string text);
  void draw();

  Terminals terminals_;
  Put put_;
  std::string redrawn_;  // empty: none on the screen
};

}  // namespace muster::launcher
