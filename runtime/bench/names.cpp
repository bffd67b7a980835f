#include "runtime/bench/names.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using kernels::ReduceOp;

// In the order of nccl-tests.
constexpr std::array<std::pair<std::string_view, Dtype>, 8> kTypes = {{{"int8", Dtype::i8},
                                                                       {"uint8", Dtype::u8},
                                                                       {"int32", Dtype::i32},
                                                                       {"int64", Dtype::i64},
                                                                       {"half", Dtype::f16},
                                                                       {"float", Dtype::f32},
                                                                       {"double", Dtype::f64},
                                                                       {"bfloat16", Dtype::bf16}}};
constexpr std::array<std::string_view, 4> kMissingTypes = {"uint32", "uint64", "f8e4m3", "f8e5m2"};

constexpr std::array<std::pair<std::string_view, ReduceOp>, 5> kReductions = {
    {{"sum", ReduceOp::sum},
     {"prod", ReduceOp::prod},
     {"max", ReduceOp::max},
     {"min", ReduceOp::min},
     {"avg", ReduceOp::avg}}};
constexpr std::array<std::string_view, 1> kMissingReductions = {"mulsum"};

template <typename Value, std::size_t n>
std::vector<Value> parse(std::string_view option, std::string_view text,
                         const std::array<std::pair<std::string_view, Value>, n>& known,
                         std::span<const std::string_view> missing) {
  std::vector<Value> found;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : known) {
    names.push_back(name);
    if (text == name || text == "all") found.push_back(value);
  }
  if (!found.empty()) return found;
  const bool is_missing = std::find(missing.begin(), missing.end(), text) != missing.end();
  throw Error(
      is_missing ? ErrorCode::unsupported : ErrorCode::config,
      fmt::format("{} {}: {}; there are {}, all", option, quote(text),
                  is_missing ? "muster does not have it" : "unknown", fmt::join(names, ", ")));
}

}  // namespace

std::string_view nccl_name(Dtype dtype) noexcept {
  for (const auto& [name, type] : kTypes) {
    if (type == dtype) return name;
  }
  return to_string(dtype);
}

std::vector<Dtype> parse_nccl_types(std::string_view text) {
  return parse("-d", text, kTypes, kMissingTypes);
}

std::vector<ReduceOp> parse_nccl_reductions(std::string_view text) {
  return parse("-o", text, kReductions, kMissingReductions);
}

}  // namespace muster::runtime
