#pragma once

#include <string>
#include <string_view>

#include "collectives/trace/reader.hpp"
#include "launcher/console.hpp"
#include "launcher/line_splitter.hpp"
#include "launcher/rank_process.hpp"
#include "launcher/verdict.hpp"

namespace muster::launcher {

/// One rank from its start to its end: what it says and writes goes to the console, how it ends is
/// kept. One thread.
class WatchedRank {
 public:
  WatchedRank(RankProcess process, Console& console);

  const RankProcess& process() const noexcept { return process_; }
  const RankEnd& end() const noexcept { return end_; }
  bool is_running() const noexcept { return !end_.has_ended; }
  /// Its flight recorder: readable for as long as this object lives.
  const collectives::trace::RecordReader& record() const noexcept { return record_; }

  /// Takes every message that waits. Afterwards the channel is closed if the rank closed it.
  void take_messages();
  /// Takes what is there, at most about 64 KiB, so that one talkative rank cannot hold up the rest.
  void take_output(Stream stream);
  /// Takes all that is left, including a last line without a newline.
  void take_last_output();

  /// To be called when the pidfd is readable: takes the last messages, ends what the rank left in
  /// its process group, and reaps it.
  void take_end();

  void ask_to_stop();
  /// Tells it to end because of `reason`: what it does from now on is not its fault.
  void tell_to_end(std::string_view reason);
  void kill();

 private:
  void obey(const runtime::Message& message);
  void show(std::string_view text);
  bool read_some(Stream stream);
  void signal_group(int signal) const;
  void mark_told();
  std::string last_operation() const;

  RankProcess process_;
  collectives::trace::RecordReader record_;
  Console& console_;
  LineSplitter out_lines_;
  LineSplitter err_lines_;
  RankEnd end_;
};

}  // namespace muster::launcher
