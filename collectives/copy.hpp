#pragma once

#include <cstddef>

#include "kernels/device/device.hpp"

namespace muster::collectives {

/// Is a message larger than what is left in the caches when its result is read? Then results are
/// stored past them. The same on all ranks of a host.
bool exceeds_caches(std::size_t bytes) noexcept;

/// dst[0 .. bytes) = src[0 .. bytes), by all threads of the device when it is long; `streaming`:
/// past the caches. Nothing where both are one place.
void copy(kernels::Device& device, std::byte* dst, const std::byte* src, std::size_t bytes,
          bool streaming);

}  // namespace muster::collectives
