#pragma once

#include <cstdint>
#include <string>

namespace muster::runtime {

/// The whole of a file or pipe. Error(config) names the path and the reason when it is missing, a
/// folder or unreadable, and the size and limit when it has more than `max_bytes` bytes.
std::string read_file(const std::string& path, std::int64_t max_bytes);

}  // namespace muster::runtime
