// Messages and all_reduce of an MPI library in the loops of tcp_bench, for comparison: run with two
// ranks under mpirun. Prints lines "WHAT BYTES MEDIAN BEST".

#include <mpi.h>

#include "tests/bench/allreduce_loop.hpp"

namespace {

void measure_send_recv(int rank, float* data) {
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    const int count = static_cast<int>(bytes / sizeof(float));
    const auto send = [&] { MPI_Send(data, count, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD); };
    const auto round_trip = [&] {
      if (rank == 0) send();
      MPI_Recv(data, count, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) send();
    };
    allreduce_loop::Time time =
        allreduce_loop::measure(bytes, round_trip, [] { MPI_Barrier(MPI_COMM_WORLD); });
    time.median_us /= 2.0;
    time.best_us /= 2.0;
    if (rank == 0) allreduce_loop::report("send_recv", bytes, time);
  }
}

void measure_all_reduce(int rank, float* in, float* out) {
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    const auto all_reduce = [&] {
      MPI_Allreduce(in, out, static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    };
    const allreduce_loop::Time time =
        allreduce_loop::measure(bytes, all_reduce, [] { MPI_Barrier(MPI_COMM_WORLD); });
    if (rank == 0) allreduce_loop::report("all_reduce", bytes, time);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  allreduce_loop::bind_to_core(rank);
  float* const in = allreduce_loop::private_buffer();
  float* const out = allreduce_loop::private_buffer();
  measure_send_recv(rank, in);
  measure_all_reduce(rank, in, out);
  MPI_Finalize();
  return 0;
}
