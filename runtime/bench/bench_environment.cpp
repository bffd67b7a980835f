#include "runtime/bench/bench_environment.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

constexpr std::array<std::string_view, 6> kNotFollowed = {
    "NCCL_TESTS_DEVICE",           "NCCL_TESTS_SPLIT",
    "NCCL_TESTS_SPLIT_MASK",       "NCCL_TESTS_ALLTOALLV_MATRIX_FILE",
    "NCCL_TESTS_ALLTOALLV_SPREAD", "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE"};

}  // namespace

double least_bandwidth_of(const Environment& environment) {
  for (const std::string_view name : kNotFollowed) {
    if (!environment.has(name)) continue;
    throw Error(ErrorCode::unsupported,
                fmt::format("{} is set; muster bench does not follow it: unset it", name));
  }
  const std::optional<std::string> text = environment.find("NCCL_TESTS_MIN_BW");
  if (!text) return -1.0;
  double value = 0.0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= 0.0)) {
    throw Error(ErrorCode::config,
                fmt::format("NCCL_TESTS_MIN_BW is {}: it must be GB/s, 0 or more", quote(*text)));
  }
  return value;
}

}  // namespace muster::runtime
