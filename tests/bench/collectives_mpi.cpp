// The calls of collectives_bench made by an MPI library, in the same loop: run under its mpirun.
// Compiled by collectives_vs_peers.py with the wrapper of each MPI there is.

#include <mpi.h>
#include <unistd.h>

#include "tests/bench/allreduce_loop.hpp"

namespace {

int rank = 0;
int ranks = 1;

template <typename Call>
void measure(const char* what, std::size_t bytes, double calls, Call&& call) {
  allreduce_loop::Time time =
      allreduce_loop::measure(bytes, call, [] { MPI_Barrier(MPI_COMM_WORLD); });
  time.median_us /= calls;
  time.best_us /= calls;
  if (rank == 0) allreduce_loop::report(what, bytes, time);
}

void measure_size(std::size_t bytes, float* in, float* out) {
  const int count = static_cast<int>(bytes / sizeof(float));
  const int share = static_cast<int>(allreduce_loop::share_count(bytes, ranks));
  measure("all_reduce", bytes, 1.0,
          [&] { MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
  measure("all_gather", bytes, 1.0,
          [&] { MPI_Allgather(in, share, MPI_FLOAT, out, share, MPI_FLOAT, MPI_COMM_WORLD); });
  measure("reduce_scatter", bytes, 1.0,
          [&] { MPI_Reduce_scatter_block(in, out, share, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
  measure("broadcast", bytes, 1.0, [&] { MPI_Bcast(in, count, MPI_FLOAT, 0, MPI_COMM_WORLD); });
  measure("send_recv", bytes, 2.0, [&] {
    if (rank > 1) return;
    if (rank == 0) MPI_Send(in, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(in, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  allreduce_loop::bind_to_core(rank % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  float* const in = allreduce_loop::private_buffer();
  float* const out = allreduce_loop::private_buffer();
  for (const std::size_t bytes : allreduce_loop::kSizes) measure_size(bytes, in, out);
  MPI_Finalize();
  return 0;
}
