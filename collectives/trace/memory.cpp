#include "collectives/trace/memory.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::trace {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

[[noreturn]] void fail(const char* doing) {
  throw Error(ErrorCode::io, fmt::format("flight recorder: {}: {}", doing, errno_text(errno)));
}

}  // namespace

Fd create_record_memory() {
  Fd memory(::memfd_create("muster-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.is_open()) fail("no memory file");
  if (::ftruncate(memory.number(), sizeof(Layout)) != 0) fail("cannot size the memory file");
  if (::fcntl(memory.number(), F_ADD_SEALS, kSeals) != 0) fail("cannot seal the memory file");
  return memory;
}

Fd reopen_read_only(const Fd& memory) {
  const std::string path = fmt::format("/proc/self/fd/{}", memory.number());
  Fd reopened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reopened.is_open()) fail("cannot open the memory file for reading");
  return reopened;
}

MappedRecord::MappedRecord(const Fd& memory, Access access) {
  struct stat status = {};
  if (::fstat(memory.number(), &status) != 0) fail("fstat");
  const int seals = ::fcntl(memory.number(), F_GET_SEALS);
  const bool is_record = status.st_size == static_cast<off_t>(sizeof(Layout)) && seals >= 0 &&
                         (seals & kSeals) == kSeals;
  if (!is_record) {
    throw Error(ErrorCode::io,
                fmt::format("flight recorder: a record is a sealed memory file of {} bytes; this "
                            "one has {} bytes: was it made by another version?",
                            sizeof(Layout), status.st_size));
  }
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const at = ::mmap(nullptr, sizeof(Layout), protection, MAP_SHARED, memory.number(), 0);
  if (at == MAP_FAILED) fail("cannot map the memory file");
  layout_ = static_cast<Layout*>(at);
}

MappedRecord::MappedRecord(MappedRecord&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)) {}

MappedRecord& MappedRecord::operator=(MappedRecord&& other) noexcept {
  std::swap(layout_, other.layout_);
  return *this;
}

MappedRecord::~MappedRecord() {
  if (layout_ != nullptr) ::munmap(layout_, sizeof(Layout));
}

}  // namespace muster::collectives::trace
