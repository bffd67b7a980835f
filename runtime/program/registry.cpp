#include "runtime/program/registry.hpp"

#include <utility>

#include "kernels/base/error.hpp"

namespace muster::runtime {

std::int64_t LogicalTensor::count() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

void Registry::begin_unit(std::string name) {
  units_.push_back({std::move(name), 0, {}});
}

int Registry::add(Parameter parameter) {
  MUSTER_ASSERT(!units_.empty() && find(parameter.name) < 0);
  const int index = static_cast<int>(parameters_.size());
  Unit& unit = units_.back();
  parameter.unit = static_cast<int>(units_.size()) - 1;
  parameter.begin = unit.elements;
  unit.elements += (parameter.count() + kUnitAlignment - 1) / kUnitAlignment * kUnitAlignment;
  unit.parameters.push_back(index);
  parameters_.push_back(std::move(parameter));
  return index;
}

int Registry::find(std::string_view name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Registry::find_tensor(std::string_view name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const LogicalTensor& tensor : parameters_[i].tensors) {
      if (tensor.name == name) return static_cast<int>(i);
    }
  }
  return -1;
}

std::int64_t Registry::elements() const noexcept {
  std::int64_t sum = 0;
  for (const Parameter& parameter : parameters_) sum += parameter.count();
  return sum;
}

std::int64_t Registry::padded_elements() const noexcept {
  std::int64_t sum = 0;
  for (const Unit& unit : units_) sum += unit.elements;
  return sum;
}

}  // namespace muster::runtime
