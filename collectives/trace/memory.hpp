#pragma once

#include <cstddef>

#include "collectives/net/fd.hpp"
#include "collectives/trace/layout.hpp"

namespace muster::collectives::trace {

/// A memory file for one record, filled with zeros, closed on exec. Its size is sealed, so that no
/// process that shares it can make another's reading fail. Error(io) when there is no room.
Fd create_record_memory();

/// The same file, for reading alone. Error(io).
Fd reopen_read_only(const Fd& memory);

/// A record mapped into this process. Move-only.
class MappedRecord {
 public:
  enum class Access { read, write };

  /// Error(io) when `memory` cannot be mapped so, or is not a record's size, sealed.
  MappedRecord(const Fd& memory, Access access);
  MappedRecord(MappedRecord&& other) noexcept;
  MappedRecord& operator=(MappedRecord&& other) noexcept;
  ~MappedRecord();

  /// To be written only through a mapping with Access::write.
  Layout& layout() const noexcept { return *layout_; }

 private:
  Layout* layout_ = nullptr;
};

}  // namespace muster::collectives::trace
