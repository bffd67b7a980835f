#include "collectives/algorithms/algorithms.hpp"
#include "collectives/signature.hpp"

namespace muster::collectives::algorithms {
namespace {

void begin_half(Lane& lane, const Call& call, std::int64_t count) {
  Signature signature(call);
  signature.count = count;
  lane.transport.begin(signature, call.options, lane.deadline);
}

}  // namespace

void send_receive(Lane& lane, const Call& call) {
  if (call.to == lane.rank()) return copy(lane.device, call.out, call.in);
  if (call.from != Call::kNobody) {
    begin_half(lane, call, call.out.count());
    lane.transport.receive(call.from, bytes_of(call.out));
  }
  if (call.to != Call::kNobody) {
    begin_half(lane, call, call.in.count());
    lane.transport.send(call.to, bytes_of(call.in));
  }
  lane.transport.wait_all();
}

}  // namespace muster::collectives::algorithms
