#include "runtime/model/families.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "runtime/model/llama.hpp"

namespace muster::runtime {
namespace {

struct Family {
  std::string_view name;
  Model (*build)(const ModelShape&, const BatchShape&);
};

constexpr std::array kFamilies{
    Family{"llama", build_llama},
};

}  // namespace

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kFamilies));
  for (const Family& family : kFamilies) names.push_back(family.name);
  return names;
}

Model build_model(const ModelShape& shape, const BatchShape& batch) {
  for (const Family& family : kFamilies) {
    if (family.name == shape.family) return family.build(shape, batch);
  }
  throw Error(ErrorCode::unsupported, fmt::format("model family \"{}\": this build has {}",
                                                  shape.family, fmt::join(family_names(), ", ")));
}

}  // namespace muster::runtime
