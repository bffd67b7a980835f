#include "kernels/cpu/isa.hpp"

#include <cstdlib>
#include <optional>

#include <cpuid.h>
#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace avx2 {
const OpTable& op_table();
}
namespace avx512 {
const OpTable& op_table();
}

namespace {

std::optional<Isa> parse_isa(std::string_view text) noexcept {
  if (text == "avx2") return Isa::avx2;
  if (text == "avx512") return Isa::avx512;
  return std::nullopt;
}

std::string_view from_environment() noexcept {
  const char* text = std::getenv("MUSTER_CPU_ISA");
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Asked of the processor itself: clang's __builtin_cpu_supports does not know this name.
bool has_f16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

Isa widest_supported() {
  if (is_supported(Isa::avx512)) return Isa::avx512;
  if (is_supported(Isa::avx2)) return Isa::avx2;
  throw Error(ErrorCode::unsupported,
              "this processor lacks AVX2, FMA or F16C, the least the CPU kernels need");
}

}  // namespace

std::string_view to_string(Isa isa) noexcept {
  return isa == Isa::avx2 ? "avx2" : "avx512";
}

bool is_supported(Isa isa) noexcept {
  const bool narrow =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  if (isa == Isa::avx2) return narrow;
  return narrow && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

Isa choose_isa(std::string_view wanted) {
  const std::string_view name = wanted.empty() ? from_environment() : wanted;
  if (name.empty()) return widest_supported();
  const std::string_view from = wanted.empty() ? "MUSTER_CPU_ISA" : "the device option isa";
  const std::optional<Isa> isa = parse_isa(name);
  if (!isa) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is '{}': give avx2 or avx512, or nothing to let the processor "
                            "decide",
                            from, name));
  }
  if (!is_supported(*isa)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} asks for {}, which this processor does not have", from, name));
  }
  return *isa;
}

const OpTable& op_table(Isa isa) noexcept {
  return isa == Isa::avx2 ? avx2::op_table() : avx512::op_table();
}

}  // namespace muster::kernels::cpu
