// Messages and all_reduce of f32 between two ranks bound to two cores, over TCP on loopback. Prints
// lines "WHAT BYTES MEDIAN BEST" (microseconds over batches of calls), where WHAT is
//   send_recv    half of a round trip of a message
//   all_reduce   one call
// tcp_vs_mpi.py runs it beside tcp_mpi.

#include <cstdio>
#include <exception>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "kernels/devices.hpp"
#include "tests/bench/allreduce_loop.hpp"
#include "tests/support/memory_store.hpp"

namespace muster {
namespace {

using collectives::Communicator;
using collectives::ReduceOp;

constexpr int kRanks = 2;

void measure_send_recv(Communicator& group, float* data) {
  const int peer = 1 - group.rank();
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    const TensorView view = vector_view(data, static_cast<std::int64_t>(bytes / sizeof(float)));
    const auto round_trip = [&] {
      if (group.rank() == 0) group.send(view, peer).wait();
      group.receive(view, peer).wait();
      if (group.rank() == 1) group.send(view, peer).wait();
    };
    allreduce_loop::Time time =
        allreduce_loop::measure(bytes, round_trip, [&] { group.barrier(); });
    time.median_us /= 2.0;
    time.best_us /= 2.0;
    if (group.rank() == 0) allreduce_loop::report("send_recv", bytes, time);
  }
}

void measure_all_reduce(Communicator& group, const float* in, float* out) {
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    const allreduce_loop::Time time = allreduce_loop::measure(
        bytes,
        [&] {
          group.all_reduce(vector_view(in, count), vector_view(out, count), ReduceOp::sum).wait();
        },
        [&] { group.barrier(); });
    if (group.rank() == 0) allreduce_loop::report("all_reduce", bytes, time);
  }
}

void run_rank(int rank, MemoryStore& store, const collectives::Secret& secret) {
  allreduce_loop::bind_to_core(rank);
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  collectives::GroupSpec spec;
  spec.name = "bench";
  spec.rank = rank;
  spec.size = kRanks;
  spec.hosts.assign(kRanks, "here");
  spec.secret = secret;
  const auto group =
      collectives::create_communicator("tcp", spec, store, *device, Deadline::after_seconds(60.0));
  float* const in = allreduce_loop::private_buffer();
  float* const out = allreduce_loop::private_buffer();
  measure_send_recv(*group, in);
  measure_all_reduce(*group, in, out);
}

int run() {
  MemoryStore store;
  const collectives::Secret secret = collectives::Secret::random();
  const pid_t child = ::fork();
  run_rank(child == 0 ? 1 : 0, store, secret);
  if (child == 0) return 0;
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main() {
  try {
    return muster::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
