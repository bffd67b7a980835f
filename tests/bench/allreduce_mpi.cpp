// The all_reduce of an MPI library in the loop of allreduce_bench, for comparison: run with two
// ranks under mpirun. Prints lines "mpi BYTES MEDIAN BEST". --in-place: out is in.

#include <mpi.h>

#include "tests/bench/allreduce_loop.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  allreduce_loop::bind_to_core(rank);
  float* const in = allreduce_loop::private_buffer();
  const bool is_in_place = argc > 1 && std::strcmp(argv[1], "--in-place") == 0;
  float* const out = is_in_place ? in : allreduce_loop::private_buffer();
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    const auto all_reduce = [&] {
      MPI_Allreduce(is_in_place ? MPI_IN_PLACE : in, out, static_cast<int>(bytes / sizeof(float)),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const allreduce_loop::Time time =
        allreduce_loop::measure(bytes, all_reduce, [] { MPI_Barrier(MPI_COMM_WORLD); });
    if (rank == 0) allreduce_loop::report("mpi", bytes, time);
  }
  MPI_Finalize();
  return 0;
}
