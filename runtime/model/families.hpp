#pragma once

#include <string_view>
#include <vector>

#include "runtime/model/shape.hpp"
#include "runtime/program/model.hpp"

namespace muster::runtime {

/// Builds a model by family name; Error(unsupported) names the families there are.
Model build_model(const ModelShape& shape, const BatchShape& batch);

/// THE LIST of families ("llama").
std::vector<std::string_view> family_names();

}  // namespace muster::runtime
