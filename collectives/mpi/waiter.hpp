#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/mpi/mpi_session.hpp"
#include "collectives/mpi/notes.hpp"
#include "collectives/signature.hpp"
#include "kernels/base/deadline.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::mpi {

/// What the waits of all lanes of a group have in common.
struct WaitContext {
  Group& group;
  Notes& notes;
  std::string name;  // of the group
  int rank = 0;
  int size = 1;
  bool may_spin = true;  // ranks have a core each
};

/// Waits of one lane for what MPI was asked to do. Each ends in one of five ways: it is done, or an
/// Error: the group was aborted (peer_lost with the reason), a rank has left (peer_lost), the
/// call's deadline has passed (timeout, which names the ranks that are in other calls or in none),
/// or MPI refuses (io, with its words).
///
/// MPI moves data only while it is asked, so a wait keeps asking: for 50 us without a pause, where
/// ranks have a core each, then giving way to other threads, and after a second with short sleeps.
///
/// One thread at a time.
class Waiter {
 public:
  Waiter(WaitContext& context, int lane) : context_(context), lane_(lane) {}

  /// From now on waits belong to this call. Throws at once if the group was aborted.
  void begin(const Call& call, Deadline deadline);
  /// The call is done.
  void end();

  /// Returns once all of these are done. `partners` are the ranks that this takes, for errors;
  /// none: all ranks.
  void until_done(std::span<Request> requests, std::span<const int> partners = {});

  /// Throws unless `error` is kSuccess.
  void check(int error) const;

  /// "all_reduce f32[64] "label" (group world, lane 0, seq 12)"; a send_receive has no seq.
  std::string describe_call() const;
  const Signature& signature() const noexcept { return signature_; }

 private:
  bool are_done(std::span<Request> requests);
  void look_around();
  void answer();
  void check_peers(std::span<Request> requests, std::span<const int> partners);
  void ask_everyone();
  std::string describe_missing(std::span<const int> partners) const;
  [[noreturn]] void throw_aborted() const;
  [[noreturn]] void throw_timeout(std::span<const int> partners);

  WaitContext& context_;
  int lane_;
  Signature signature_;
  CallOptions options_;
  Deadline deadline_ = Deadline::never();
  std::uint64_t beats_ = 0;
  std::optional<Deadline> grace_;  // from when a partner was seen to have left
  bool has_answered_ = false;      // other ranks know which call this lane is in
};

}  // namespace muster::collectives::mpi
