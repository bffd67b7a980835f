#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace muster::launcher {

/// Cuts a stream of bytes into whole lines, whatever the pieces it comes in.
class LineSplitter {
 public:
  /// A line without its newline.
  using Take = std::function<void(std::string_view line)>;

  /// A longer line is cut into pieces of this size, so that a rank that writes no newline costs
  /// bounded memory.
  static constexpr std::size_t kMaxLineBytes = 65536;

  void add(std::string_view bytes, const Take& take);
  /// Takes what is left without a newline.
  void finish(const Take& take);

 private:
  std::string rest_;
};

/// The line without what would move the cursor or colour the text: escape sequences and control
/// characters other than tabs.
std::string printable(std::string_view line);

}  // namespace muster::launcher
