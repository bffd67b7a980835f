#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "collectives/bootstrap/messenger.hpp"
#include "collectives/call.hpp"
#include "kernels/base/dtype.hpp"

/// The line between the core and the plug-in libmuster_mpi.so, which alone is linked to MPI: plain
/// data one way, error numbers of the MPI library the other, and no exception. The plug-in is not
/// linked to any library of ours, so headers it includes must do without their .cpp files.
namespace muster::collectives::mpi {

/// Error numbers are MPI's own; this one means success.
inline constexpr int kSuccess = 0;

/// One collective as MPI knows it: counts fit an int, averages are not among the ops.
///
///   is_in_place : MPI_IN_PLACE stands for out in a scatter, for in elsewhere
///   count   : elements of a rank's share; of the whole in all_reduce, reduce and broadcast
///   counts, offsets : [size] elements, of the shares that differ from rank to rank:
///             in_ on the side of in (all_to_all_v, reduce_scatter_v), out_ on that of out
struct Operation {
  CallKind kind = CallKind::all_reduce;
  Dtype dtype = Dtype::f32;
  ReduceOp op = ReduceOp::sum;
  const void* in = nullptr;
  void* out = nullptr;
  bool is_in_place = false;
  int count = 0;
  int root = 0;
  std::span<const int> in_counts = {};
  std::span<const int> in_offsets = {};
  std::span<const int> out_counts = {};
  std::span<const int> out_offsets = {};
};

/// Bytes between two ranks, matched in order per lane, tag and pair.
struct Message {
  enum class Tag : std::uint8_t { header, body };

  int peer = 0;
  Tag tag = Tag::body;
  int bytes = 0;
};

/// What was started and is not known to be done: a handle of the MPI library, bit by bit.
struct Request {
  std::uint64_t bits = 0;
};

/// The longest note, see Group::post().
inline constexpr std::size_t kNoteBytes = 512;

/// The ranks of a group in the MPI library, with a communicator of its own for each lane.
///
/// Any thread may call; calls of one process, of all its groups, happen one after the other.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  /// MPI keeps the communicators until it ends: notes may be on their way in them. That is some KiB
  /// per group, of which a process may make about ten thousand.
  virtual ~Group() = default;

  virtual int start(int lane, const Operation& operation, Request& request) noexcept = 0;
  virtual int send(int lane, const Message& message, const void* data,
                   Request& request) noexcept = 0;
  virtual int receive(int lane, const Message& message, void* data, Request& request) noexcept = 0;
  /// Moves everything on, and says whether this one is done; its handle is then used up.
  virtual int test(Request& request, bool& is_done) noexcept = 0;

  /// A short message beside the lanes, to be found by take_note() of rank `to`. Returns at once.
  virtual int post(int to, std::span<const std::byte> note) noexcept = 0;
  /// Fills `note` with the next one that has come, if any: `bytes` of it from rank `from`.
  virtual int take_note(std::span<std::byte, kNoteBytes> note, int& from,
                        std::size_t& bytes) noexcept = 0;

  /// Operations that never end are under way: the session keeps `memory`, which they may read and
  /// write, for as long as it lives.
  virtual void abandon(std::shared_ptr<void> memory) noexcept = 0;

  /// The library's words for an error number, cut to fit and ended with a zero.
  virtual void describe(int error, std::span<char> text) const noexcept = 0;
};

/// MPI, from its start to finish().
class Session : public Messenger {
 public:
  /// The lanes that a group has: 1 where the library can serve one thread only.
  virtual int lanes() const noexcept = 0;

  /// Makes the group of these ranks of the job, [size], in this order. Collective over them,
  /// without a deadline: they should have met before. Nothing, and MPI's error, when MPI refuses.
  virtual std::unique_ptr<Group> create_group(std::span<const int> ranks, int& error) noexcept = 0;

  virtual void describe(int error, std::span<char> text) const noexcept = 0;
};

/// The one entry of the plug-in. Starts MPI and returns the session, which the caller deletes; or
/// returns nullptr when `build_id` is not the plug-in's own, which is then in `*plugin_build_id`.
using OpenSession = Session* (*)(const char* build_id, const char** plugin_build_id);
inline constexpr const char* kOpenSession = "muster_open_mpi";
inline constexpr const char* kPlugin = "libmuster_mpi.so";

}  // namespace muster::collectives::mpi
