#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/base/dtype.hpp"
#include "runtime/checkpoint/file_io.hpp"

namespace muster::runtime {

/// Elements [begin, begin + count) of an array of `dtype` that begins at byte `offset` of a file.
struct FileRange {
  const InputFile* file;
  std::int64_t offset;
  Dtype dtype;
  std::int64_t begin;
  std::int64_t count;
};

/// Reads a range and stores it as `to` at `out`, which may have any alignment. f32, f16 and bf16
/// convert into each other, rounding to nearest even; any dtype converts into itself, byte for
/// byte; others are an Error(unsupported) naming `what`. Needs 64 KiB beside `out`.
void read_as(const FileRange& range, Dtype to, void* out, std::string_view what);

}  // namespace muster::runtime
