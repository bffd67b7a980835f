#include "kernels/ops/embedding.hpp"

#include <cstring>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

void embedding(Device& device, const EmbeddingArgs& args) {
  const auto* tokens = args.tokens.row<std::int32_t>(0);
  const std::size_t row_bytes = static_cast<std::size_t>(args.y.cols) * size_of(args.y.dtype);
  with_float(args.y.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.y.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        std::memcpy(args.y.row<T>(t), args.table.row<T>(tokens[t]), row_bytes);
      }
    });
  });
}

void embedding_backward(Device& device, const EmbeddingBackwardArgs& args) {
  const auto* tokens = args.tokens.row<std::int32_t>(0);
  if (!args.accumulate) MUSTER_ISA::fill(device, FillArgs{args.dtable, 0.0});
  with_float(args.dy.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    // Cut by columns: every thread adds all rows in order, so threads cannot change a sum.
    parallel_for(device.threads(), args.dy.cols, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = 0; t < args.dy.rows; ++t) {
        float* const sum = args.dtable.row<float>(tokens[t]) + begin;
        const T* const addend = args.dy.row<T>(t) + begin;
        for_each_register(end - begin, [&](auto lanes, std::int64_t c) {
          lanes.store(sum + c, lanes.load(sum + c) + lanes.load(addend + c));
        });
      }
    });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
