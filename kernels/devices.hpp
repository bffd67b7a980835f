#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/device.hpp"

namespace muster::kernels {

/// What a device is made from.
struct DeviceOptions {
  int threads = 1;  // CPU: cores this rank may use
  /// CPU: the instruction set of the kernels, "avx2" or "avx512". Empty: MUSTER_CPU_ISA if that is
  /// set, else the widest this processor has. The matrix library can be limited only once per
  /// process: the first device opened does it.
  std::string isa{};
};

/// Opens a device by kind ("cpu"). Error(unsupported) names the kinds there are, or what the
/// processor lacks; Error(invalid_argument) a number of threads below 1 or an unknown isa.
std::unique_ptr<Device> open_device(std::string_view kind, const DeviceOptions& options);

/// The kinds this build has.
std::vector<std::string_view> device_kinds();

}  // namespace muster::kernels
