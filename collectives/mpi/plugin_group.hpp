#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "collectives/mpi/mpi_session.hpp"
#include "collectives/mpi/plugin_types.hpp"

namespace muster::collectives::mpi {

/// A note that MPI may still read.
struct PostedNote {
  std::array<std::byte, kNoteBytes> bytes{};
  MPI_Request request = MPI_REQUEST_NULL;
};

/// Everything that one process has of MPI. Part of the plug-in.
struct Library {
  std::mutex mutex;  // held during every call of the library; guards the rest
  Types types;
  std::list<PostedNote> posted;  // of all groups: those that have ended may have left some
  // Shared by the groups that were abandoned and by whatever MPI still has under way of theirs.
  std::vector<std::shared_ptr<void>> abandoned;
  bool is_finished = false;  // MPI may not be called any more
};

void describe_error(int error, std::span<char> text) noexcept;

/// A Group over MPI communicators, the first of which also carries the notes.
class PluginGroup final : public Group {
 public:
  /// `library` outlives the group; `lanes` belong to the group from now on.
  PluginGroup(Library& library, std::vector<MPI_Comm> lanes)
      : library_(library), lanes_(std::move(lanes)) {}

  int start(int lane, const Operation& operation, Request& request) noexcept override;
  int send(int lane, const Message& message, const void* data, Request& request) noexcept override;
  int receive(int lane, const Message& message, void* data, Request& request) noexcept override;
  int test(Request& request, bool& is_done) noexcept override;
  int post(int to, std::span<const std::byte> note) noexcept override;
  int take_note(std::span<std::byte, kNoteBytes> note, int& from,
                std::size_t& bytes) noexcept override;
  void abandon(std::shared_ptr<void> memory) noexcept override;
  void describe(int error, std::span<char> text) const noexcept override {
    describe_error(error, text);
  }

 private:
  MPI_Comm comm(int lane) const noexcept { return lanes_[static_cast<std::size_t>(lane)]; }
  void forget_sent() noexcept;

  Library& library_;
  std::vector<MPI_Comm> lanes_;  // [lanes]
};

}  // namespace muster::collectives::mpi
