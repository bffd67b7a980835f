#pragma once

#include <string>

namespace muster::runtime {

/// This machine's name, for people.
std::string host_name();

/// Equal exactly for processes that can share memory: one kernel (its boot id), and the same pid,
/// ipc and network namespaces. Error(io) when the kernel does not say.
std::string host_id();

}  // namespace muster::runtime
