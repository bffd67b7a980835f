#include "runtime/checkpoint/convert.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/half.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 16;

/// Files hold numbers at any address: every element is copied, never cast in place.
template <typename From, typename To>
void convert(const std::byte* from, std::byte* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    const To converted(static_cast<float>(value));
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(To)), &converted, sizeof(To));
  }
}

using Converter = void (*)(const std::byte*, std::byte*, std::int64_t);

template <typename From>
Converter converter_to(Dtype to) {
  switch (to) {
    case Dtype::f32: return convert<From, float>;
    case Dtype::f16: return convert<From, Half>;
    case Dtype::bf16: return convert<From, Bfloat16>;
    default: return nullptr;
  }
}

/// Null when there is no such conversion.
Converter converter(Dtype from, Dtype to) {
  switch (from) {
    case Dtype::f32: return converter_to<float>(to);
    case Dtype::f16: return converter_to<Half>(to);
    case Dtype::bf16: return converter_to<Bfloat16>(to);
    default: return nullptr;
  }
}

}  // namespace

void read_as(const FileRange& range, Dtype to, void* out, std::string_view what) {
  auto* target = static_cast<std::byte*>(out);
  const auto size = static_cast<std::int64_t>(size_of(range.dtype));
  std::int64_t offset = range.offset + range.begin * size;
  if (range.dtype == to) {
    range.file->read(offset, {target, static_cast<std::size_t>(range.count * size)});
    return;
  }
  const Converter convert_piece = converter(range.dtype, to);
  if (convert_piece == nullptr) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} in {} is {}, which does not convert into {}", what,
                            range.file->path(), to_string(range.dtype), to_string(to)));
  }
  std::vector<std::byte> piece(kPieceBytes);
  for (std::int64_t left = range.count; left > 0;) {
    const std::int64_t count = std::min(left, kPieceBytes / size);
    range.file->read(offset, std::span(piece).first(static_cast<std::size_t>(count * size)));
    convert_piece(piece.data(), target, count);
    target += count * static_cast<std::int64_t>(size_of(to));
    offset += count * size;
    left -= count;
  }
}

}  // namespace muster::runtime
