#include "kernels/base/dtype.hpp"

#include <array>

namespace muster {
namespace {

struct Entry {
  Dtype dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Entry, 8> kDtypes{{{Dtype::f64, "f64", 8},
                                        {Dtype::f32, "f32", 4},
                                        {Dtype::f16, "f16", 2},
                                        {Dtype::bf16, "bf16", 2},
                                        {Dtype::i64, "i64", 8},
                                        {Dtype::i32, "i32", 4},
                                        {Dtype::i8, "i8", 1},
                                        {Dtype::u8, "u8", 1}}};

const Entry& entry(Dtype dtype) noexcept {
  return kDtypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::size_t size_of(Dtype dtype) noexcept {
  return entry(dtype).bytes;
}

std::string_view to_string(Dtype dtype) noexcept {
  return entry(dtype).name;
}

std::optional<Dtype> parse_dtype(std::string_view text) noexcept {
  for (const Entry& known : kDtypes) {
    if (known.name == text) return known.dtype;
  }
  return std::nullopt;
}

bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

}  // namespace muster
