#include "kernels/devices.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/isa.hpp"

namespace muster::kernels {
namespace {

using Open = std::unique_ptr<Device> (*)(const DeviceOptions&);

struct Kind {
  std::string_view name;
  Open open;
};

std::unique_ptr<Device> open_cpu(const DeviceOptions& options) {
  return std::make_unique<cpu::CpuDevice>(options.threads, cpu::choose_isa(options.isa));
}

/// THE LIST of devices, one line each.
constexpr std::array kKinds{
    Kind{"cpu", open_cpu},
};

}  // namespace

std::unique_ptr<Device> open_device(std::string_view kind, const DeviceOptions& options) {
  for (const Kind& known : kKinds) {
    if (known.name == kind) return known.open(options);
  }
  throw Error(ErrorCode::unsupported, fmt::format("no device kind '{}': this build has {}", kind,
                                                  fmt::join(device_kinds(), ", ")));
}

std::vector<std::string_view> device_kinds() {
  std::vector<std::string_view> names;
  names.reserve(kKinds.size());
  for (const Kind& known : kKinds) names.push_back(known.name);
  return names;
}

}  // namespace muster::kernels
