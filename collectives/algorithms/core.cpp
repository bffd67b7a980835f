#include "collectives/algorithms/core.hpp"

#include "collectives/algorithms/partial.hpp"

namespace muster::collectives::algorithms {

Partials make_partials(Lane& lane, const Call& call) {
  const Dtype dtype = partial_dtype(call.in.dtype, call.op);
  const std::size_t bytes = aligned(static_cast<std::size_t>(call.count) * size_of(dtype));
  const std::span<std::byte> memory = lane.scratch.reserve(2 * bytes);
  return {.sum = {memory.data(), dtype, 1, call.count},
          .received = {memory.data() + bytes, dtype, 1, call.count}};
}

bool begin_in_core(Lane& lane, const Core& core, const Call& call, const Partials& partials) {
  if (!core.is_member()) {
    lane.transport.wait(lane.transport.send(core.partner(), bytes_of(call.in)));
    return false;
  }
  if (!core.is_in_pair()) {
    begin_partial(lane.device, partials.sum, call.in);
    return true;
  }
  // What comes in narrow lies at the place where it will not be read any more once it is wide.
  const TensorView narrow(partials.sum.data, call.in.dtype, 1, call.count);
  lane.transport.wait(lane.transport.receive(core.partner(), bytes_of(narrow)));
  begin_partial(lane.device, partials.received, narrow);
  begin_partial(lane.device, partials.sum, call.in);
  combine(lane.device, {.mine = partials.sum, .theirs = partials.received, .op = call.op});
  return true;
}

void share_result(Lane& lane, const Core& core, const Call& call) {
  if (!core.is_in_pair()) return;
  const Transport::Ticket ticket =
      core.is_member() ? lane.transport.send(core.partner(), bytes_of(ConstTensorView(call.out)))
                       : lane.transport.receive(core.partner(), bytes_of(call.out));
  lane.transport.wait(ticket);
}

}  // namespace muster::collectives::algorithms
