// Collectives of f32 between ranks that are processes of this machine, in the loop that the peers
// share (collectives_mpi.cpp, collectives_gloo.py). collectives_vs_peers.py runs them in turns.
//
//     collectives_bench shm|tcp RANKS
//
// Prints lines "WHAT BYTES MEDIAN BEST" (microseconds of one call; send_recv: half a round trip).
// BYTES is the whole vector: what all_gather gives each rank, what reduce_scatter takes from each.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

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

struct Buffers {
  float* in;
  float* out;
};

template <typename Call>
void measure(Communicator& group, const char* what, std::size_t bytes, double calls, Call&& call) {
  allreduce_loop::Time time =
      allreduce_loop::measure(bytes, std::forward<Call>(call), [&] { group.barrier(); });
  time.median_us /= calls;
  time.best_us /= calls;
  if (group.rank() == 0) allreduce_loop::report(what, bytes, time);
}

void measure_all_reduce(Communicator& group, const char* what, std::size_t bytes, Buffers at) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  measure(group, what, bytes, 1.0, [&] {
    group.all_reduce(vector_view(at.in, count), vector_view(at.out, count), ReduceOp::sum).wait();
  });
}

void measure_shares(Communicator& group, std::size_t bytes, Buffers at) {
  const auto share = static_cast<std::int64_t>(allreduce_loop::share_count(bytes, group.size()));
  const std::int64_t whole = share * group.size();
  measure(group, "all_gather", bytes, 1.0,
          [&] { group.all_gather(vector_view(at.in, share), vector_view(at.out, whole)).wait(); });
  measure(group, "reduce_scatter", bytes, 1.0, [&] {
    group.reduce_scatter(vector_view(at.in, whole), vector_view(at.out, share), ReduceOp::sum)
        .wait();
  });
}

void measure_one_to_others(Communicator& group, std::size_t bytes, Buffers at) {
  const TensorView view = vector_view(at.in, static_cast<std::int64_t>(bytes / sizeof(float)));
  measure(group, "broadcast", bytes, 1.0, [&] { group.broadcast(view, 0).wait(); });
  measure(group, "send_recv", bytes, 2.0, [&] {  // ranks above 1 look on
    if (group.rank() > 1) return;
    const int peer = 1 - group.rank();
    if (group.rank() == 0) group.send(view, peer).wait();
    group.receive(view, peer).wait();
    if (group.rank() == 1) group.send(view, peer).wait();
  });
}

void run_rank(const std::string& backend, int rank, int ranks, MemoryStore& store,
              const collectives::Secret& secret) {
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  allreduce_loop::bind_to_core(rank % cores);
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  collectives::GroupSpec spec;
  spec.name = "bench";
  spec.rank = rank;
  spec.size = ranks;
  spec.hosts.assign(static_cast<std::size_t>(ranks), "here");
  spec.secret = secret;
  spec.cores_per_rank = cores / ranks;
  const auto group = collectives::create_communicator(backend, spec, store, *device,
                                                      Deadline::after_seconds(60.0));
  const Buffers own = {allreduce_loop::private_buffer(), allreduce_loop::private_buffer()};
  const Memory shared_in = group->memory().allocate(allreduce_loop::kMaxBytes, "in");
  const Memory shared_out = group->memory().allocate(allreduce_loop::kMaxBytes, "out");
  const Buffers shared = {reinterpret_cast<float*>(shared_in.data()),
                          reinterpret_cast<float*>(shared_out.data())};
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    measure_all_reduce(*group, "all_reduce", bytes, own);
    if (backend == "shm") measure_all_reduce(*group, "symmetric", bytes, shared);
    measure_shares(*group, bytes, own);
    measure_one_to_others(*group, bytes, own);
  }
}

int run(const std::string& backend, int ranks) {
  MemoryStore store;
  const collectives::Secret secret = collectives::Secret::random();
  int rank = 0;
  while (rank + 1 < ranks) {
    if (::fork() == 0) {
      run_rank(backend, rank + 1, ranks, store, secret);
      return 0;
    }
    ++rank;
  }
  run_rank(backend, 0, ranks, store, secret);
  int worst = 0;
  int status = 0;
  while (::wait(&status) > 0) worst = status == 0 ? worst : 1;
  return worst;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: collectives_bench shm|tcp RANKS\n");
    return 2;
  }
  try {
    return muster::run(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
