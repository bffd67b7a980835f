#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/bench/verify.hpp"

namespace muster::runtime {

/// How many elements one call of an operation takes and gives. In place, this rank's input begins
/// rank * in_offset and its output rank * out_offset elements into the one buffer.
struct BenchLayout {
  std::int64_t in = 0;        // most elements that a rank sends
  std::int64_t out = 0;       // most elements that a rank receives
  std::int64_t per_rank = 0;  // the count column
  std::int64_t in_offset = 0;
  std::int64_t out_offset = 0;
  std::vector<std::int64_t> in_counts;   // of this rank, where shares differ
  std::vector<std::int64_t> out_counts;  // likewise
};

/// What a layout depends on: `count` elements of `element_bytes` asked for.
struct LayoutRequest {
  std::int64_t count = 0;
  std::size_t element_bytes = 4;
  int rank = 0;
  int ranks = 1;
};

/// One call. `in` and `out` are where this rank's input and output begin, equal or within each
/// other when in place.
struct BenchCall {
  collectives::Communicator& group;
  const BenchLayout& layout;
  std::byte* in = nullptr;
  std::byte* out = nullptr;
  Dtype dtype = Dtype::f32;
  kernels::ReduceOp op = kernels::ReduceOp::sum;
  int root = 0;
  collectives::CallOptions options;
};

/// Where an output is looked at: by which rank, in which call.
struct OutputPlace {
  const BenchLayout& layout;
  int rank = 0;
  int ranks = 1;
  int root = 0;
  bool is_in_place = false;
};

/// One entry of the list of operations.
struct BenchOperation {
  std::string_view name;  // "all_reduce"
  collectives::CallKind kind = collectives::CallKind::all_reduce;
  bool is_reduction = false;
  bool has_root = false;
  /// False: there is no in-place form; the second half of a row repeats the first, unchecked.
  bool works_in_place = true;
  BenchLayout (*layout)(const LayoutRequest& request);
  /// Elements that algbw counts.
  std::int64_t (*counted)(const BenchLayout& layout, int ranks);
  /// busbw / algbw.
  double (*bus_factor)(int ranks);
  collectives::Pending (*start)(const BenchCall& call);
  /// What must be in the output; nothing where this rank has none.
  std::vector<Segment> (*expected)(const OutputPlace& place);
};

/// THE LIST of operations, in the order of `muster bench all`.
std::span<const BenchOperation> bench_operations();

/// The operations that a command line names: one, with or without "_perf", or "all". Error(config)
/// for any other name, with the nearest.
std::vector<std::string> parse_operations(std::string_view text);

/// The entry of a name that parse_operations() returned.
const BenchOperation& find_operation(std::string_view name);

}  // namespace muster::runtime
