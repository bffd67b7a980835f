#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernels/device/device.hpp"

namespace muster::kernels {

/// What a device is made from.
struct DeviceOptions {
  int threads = 1;  // CPU: cores this rank may use
};

/// Opens a device by kind ("cpu"). Error(unsupported) names the kinds there are.
std::unique_ptr<Device> open_device(std::string_view kind, const DeviceOptions& options);

/// The kinds this build has.
std::vector<std::string_view> device_kinds();

}  // namespace muster::kernels
