#include "collectives/mpi/plugin_group.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace muster::collectives::mpi {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(Request::bits));

constexpr int kNoteTag = 2;

int tag_of(Message::Tag tag) noexcept {
  return tag == Message::Tag::header ? 0 : 1;
}

MPI_Request handle_of(const Request& request) noexcept {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::memcpy(&handle, &request.bits, sizeof(MPI_Request));
  return handle;
}

void keep(MPI_Request handle, Request& request) noexcept {
  request.bits = 0;
  std::memcpy(&request.bits, &handle, sizeof(MPI_Request));
}

const void* in_of(const Operation& operation) noexcept {
  const bool is_replaced = operation.is_in_place && operation.kind != CallKind::scatter;
  return is_replaced ? MPI_IN_PLACE : operation.in;
}
void* out_of(const Operation& operation) noexcept {
  const bool is_replaced = operation.is_in_place && operation.kind == CallKind::scatter;
  return is_replaced ? MPI_IN_PLACE : operation.out;
}

}  // namespace

void describe_error(int error, std::span<char> text) noexcept {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(error, words.data(), &length);
  const std::size_t kept = std::min(text.size() - 1, static_cast<std::size_t>(length));
  std::copy_n(words.begin(), kept, text.begin());
  text[kept] = '\0';
}

int PluginGroup::start(int lane, const Operation& operation, Request& request) noexcept {
  const std::scoped_lock lock(library_.mutex);
  const Operation& o = operation;
  const MPI_Comm group = comm(lane);
  const MPI_Datatype type = library_.types.of(o.dtype);
  const MPI_Op op = library_.types.of(o.op, o.dtype);
  const void* const in = in_of(o);
  void* const out = out_of(o);
  MPI_Request handle = MPI_REQUEST_NULL;
  int error = MPI_ERR_UNSUPPORTED_OPERATION;
  switch (o.kind) {
    case CallKind::all_reduce:
      error = MPI_Iallreduce(in, out, o.count, type, op, group, &handle);
      break;
    case CallKind::reduce:
      error = MPI_Ireduce(in, out, o.count, type, op, o.root, group, &handle);
      break;
    case CallKind::reduce_scatter:
      error = MPI_Ireduce_scatter_block(in, out, o.count, type, op, group, &handle);
      break;
    case CallKind::reduce_scatter_v:
      error = MPI_Ireduce_scatter(in, out, o.in_counts.data(), type, op, group, &handle);
      break;
    case CallKind::broadcast: error = MPI_Ibcast(out, o.count, type, o.root, group, &handle); break;
    case CallKind::all_gather:
      error = MPI_Iallgather(in, o.count, type, out, o.count, type, group, &handle);
      break;
    case CallKind::all_gather_v:
      error = MPI_Iallgatherv(in, o.count, type, out, o.out_counts.data(), o.out_offsets.data(),
                              type, group, &handle);
      break;
    case CallKind::gather:
      error = MPI_Igather(in, o.count, type, out, o.count, type, o.root, group, &handle);
      break;
    case CallKind::scatter:
      error = MPI_Iscatter(in, o.count, type, out, o.count, type, o.root, group, &handle);
      break;
    case CallKind::all_to_all:
      error = MPI_Ialltoall(in, o.count, type, out, o.count, type, group, &handle);
      break;
    case CallKind::all_to_all_v:
      error = MPI_Ialltoallv(in, o.in_counts.data(), o.in_offsets.data(), type, out,
                             o.out_counts.data(), o.out_offsets.data(), type, group, &handle);
      break;
    case CallKind::barrier:
    case CallKind::allocate:
    case CallKind::send_receive: break;
  }
  keep(handle, request);
  return error;
}

int PluginGroup::send(int lane, const Message& message, const void* data,
                      Request& request) noexcept {
  const std::scoped_lock lock(library_.mutex);
  MPI_Request handle = MPI_REQUEST_NULL;
  const int error = MPI_Isend(data, message.bytes, MPI_BYTE, message.peer, tag_of(message.tag),
                              comm(lane), &handle);
  keep(handle, request);
  return error;
}

int PluginGroup::receive(int lane, const Message& message, void* data, Request& request) noexcept {
  const std::scoped_lock lock(library_.mutex);
  MPI_Request handle = MPI_REQUEST_NULL;
  const int error = MPI_Irecv(data, message.bytes, MPI_BYTE, message.peer, tag_of(message.tag),
                              comm(lane), &handle);
  keep(handle, request);
  return error;
}

int PluginGroup::test(Request& request, bool& is_done) noexcept {
  const std::scoped_lock lock(library_.mutex);
  MPI_Request handle = handle_of(request);
  int flag = 0;
  const int error = MPI_Test(&handle, &flag, MPI_STATUS_IGNORE);
  keep(handle, request);
  is_done = flag != 0;
  return error;
}

int PluginGroup::post(int to, std::span<const std::byte> note) noexcept {
  const std::scoped_lock lock(library_.mutex);
  if (library_.is_finished) return MPI_SUCCESS;  // a group that ends after MPI
  forget_sent();
  PostedNote& posted = library_.posted.emplace_back();
  std::copy(note.begin(), note.end(), posted.bytes.begin());
  return MPI_Isend(posted.bytes.data(), static_cast<int>(note.size()), MPI_BYTE, to, kNoteTag,
                   comm(0), &posted.request);
}

int PluginGroup::take_note(std::span<std::byte, kNoteBytes> note, int& from,
                           std::size_t& bytes) noexcept {
  const std::scoped_lock lock(library_.mutex);
  bytes = 0;
  int is_there = 0;
  MPI_Status status;
  int error = MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm(0), &is_there, &status);
  if (error != MPI_SUCCESS || is_there == 0) return error;
  from = status.MPI_SOURCE;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  error = MPI_Recv(note.data(), static_cast<int>(note.size()), MPI_BYTE, from, kNoteTag, comm(0),
                   MPI_STATUS_IGNORE);
  bytes = static_cast<std::size_t>(length);
  return error;
}

void PluginGroup::abandon(std::shared_ptr<void> memory) noexcept {
  const std::scoped_lock lock(library_.mutex);
  library_.abandoned.push_back(std::move(memory));
}

void PluginGroup::forget_sent() noexcept {
  library_.posted.remove_if([](PostedNote& posted) {
    int is_done = 0;
    MPI_Test(&posted.request, &is_done, MPI_STATUS_IGNORE);
    return is_done != 0;
  });
}

}  // namespace muster::collectives::mpi
