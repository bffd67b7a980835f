#pragma once

#include <set>

#include <sys/types.h>

namespace muster::launcher {

/// Makes processes whose parent ends children of this one, so that none that a rank started gets
/// lost. Children that this process has already (a shell's, before it became this program) are
/// not ours and are left alone.
class Descendants {
 public:
  /// Error(io) when the kernel refuses.
  Descendants();

  /// Kills every child that came since, and theirs, until none is left: within a second or two, or
  /// returns false. To be called when the ranks themselves have ended.
  bool end_all() const;

 private:
  std::set<pid_t> not_ours_;
};

}  // namespace muster::launcher
