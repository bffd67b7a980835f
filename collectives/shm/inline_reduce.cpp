#include "collectives/shm/inline_reduce.hpp"

#include <cstring>
#include <type_traits>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

template <typename T>
T payload_element(const Lane& lane, int rank, std::int64_t index) {
  T value;
  std::memcpy(&value, lane.payload(rank).data() + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

// The kernel's own arithmetic: f32 and f64 in themselves, integers in 64 bits that wrap round.
template <typename T>
void sum(const Lane& lane, const Call& call) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  for (std::int64_t i = 0; i < call.out.count(); ++i) {
    auto result = static_cast<Wide>(payload_element<T>(lane, 0, i));
    for (int rank = 1; rank < lane.size(); ++rank) {
      result += static_cast<Wide>(payload_element<T>(lane, rank, i));
    }
    const T rounded = static_cast<T>(result);
    std::memcpy(call.out.data + i * static_cast<std::int64_t>(sizeof(T)), &rounded, sizeof(T));
  }
}

void reduce_by_kernel(Lane& lane, const Call& call) {
  for (int rank = 0; rank < lane.size(); ++rank) {
    lane.sources()[static_cast<std::size_t>(rank)] = {lane.payload(rank).data(), call.in.dtype, 1,
                                                      call.in.count()};
  }
  kernels::reduce(lane.device(),
                  {.destinations = {&call.out, 1}, .sources = lane.sources(), .op = call.op});
}

}  // namespace

void inline_reduce(Lane& lane, const Call& call) {
  std::memcpy(lane.payload().data(), call.in.data, call.in.bytes());
  lane.arrive();
  lane.meet();
  if (call.out.count() == 0) return;
  if (call.op != ReduceOp::sum) return reduce_by_kernel(lane, call);
  switch (call.in.dtype) {
    case Dtype::f32: return sum<float>(lane, call);
    case Dtype::f64: return sum<double>(lane, call);
    case Dtype::i32: return sum<std::int32_t>(lane, call);
    case Dtype::i64: return sum<std::int64_t>(lane, call);
    default: return reduce_by_kernel(lane, call);
  }
}

}  // namespace muster::collectives::shm
