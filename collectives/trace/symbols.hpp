#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace muster::collectives::trace {

/// Names for addresses in a living process: "muster::runtime::Loader::get(long)+0x1c
/// (muster-rank)", "muster-rank+0x4f2a0" where the file has no symbol there, "0x7f00…" where no
/// file is mapped. Reads the process's maps and the symbol tables of the files that are mapped;
/// files that cannot be read have no names. Innermost frame first, as the addresses.
std::vector<std::string> symbolise(pid_t process, std::span<const std::uint64_t> addresses);

}  // namespace muster::collectives::trace
