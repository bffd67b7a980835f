// all_reduce of f32 among two ranks bound to two cores, over shared memory. Prints lines
// "WHAT BYTES MEDIAN BEST" (microseconds of one call over batches of calls), where WHAT is
//   symmetric   buffers from the communicator
//   private     buffers of the ranks' own
//   copy        each rank copies BYTES between buffers of its own: the same bytes read and written
//               as by an all_reduce that moves no byte twice, so its time is the floor
// and one line "probe LATENCY_NS COPY_OUT_GB_S": how near the two cores are to each other.
// --probe: that line alone. --in-place: out is in. --small: 8 bytes alone; --small-traced: the same
// with the flight recorder open. allreduce_vs_mpi.py runs it beside allreduce_mpi.

#include <atomic>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/seconds.hpp"
#include "kernels/devices.hpp"
#include "kernels/ops/reduce.hpp"
#include "tests/bench/allreduce_loop.hpp"
#include "tests/support/memory_store.hpp"

namespace muster {
namespace {

using collectives::Communicator;
using collectives::ReduceOp;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 2;

std::unique_ptr<Communicator> make_group(int rank, MemoryStore& store, kernels::Device& device) {
  collectives::GroupSpec group;
  group.name = "bench";
  group.rank = rank;
  group.size = kRanks;
  group.hosts.assign(kRanks, "here");
  return collectives::create_communicator("shm", group, store, device,
                                          Deadline::after_seconds(60.0));
}

// What the two ranks share for the probe.
struct alignas(128) Line {
  std::atomic<long> value{0};
};
struct ProbeMemory {
  Line ping;
  Line pong;
  alignas(128) std::array<std::byte, 512 << 10> message;
};

// One way between the cores: half of a round trip of a cache line, in ns.
double latency_ns(ProbeMemory& memory, int rank) {
  constexpr long kTrips = 4000;
  Line& mine = rank == 0 ? memory.ping : memory.pong;
  Line& other = rank == 0 ? memory.pong : memory.ping;
  const Clock::time_point start = Clock::now();
  for (long trip = 1; trip <= kTrips; ++trip) {
    if (rank == 0) mine.value.store(trip, std::memory_order_release);
    while (other.value.load(std::memory_order_acquire) < trip) __builtin_ia32_pause();
    if (rank == 1) mine.value.store(trip, std::memory_order_release);
  }
  return seconds_since(start) / (2 * kTrips) * 1e9;
}

// GB/s at which rank 1 copies a message that rank 0 has just written.
double copy_out_gb_s(ProbeMemory& memory, int rank, Communicator& group) {
  std::vector<std::byte> own(memory.message.size(), std::byte{1});
  std::vector<double> rates;
  for (int i = 0; i < 21; ++i) {
    if (rank == 0) std::memcpy(memory.message.data(), own.data(), own.size());
    group.barrier();
    const Clock::time_point start = Clock::now();
    if (rank == 1) std::memcpy(own.data(), memory.message.data(), own.size());
    rates.push_back(static_cast<double>(own.size()) / seconds_since(start) / 1e9);
    group.barrier();
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

void probe(Communicator& group, ProbeMemory& memory) {
  const double latency = latency_ns(memory, group.rank());
  const double rate = copy_out_gb_s(memory, group.rank(), group);
  if (group.rank() == 1) std::printf("probe %.0f %.1f\n", latency, rate);
  std::fflush(stdout);
}

void measure_all_reduce(Communicator& group, const char* what, const float* in, float* out,
                        std::size_t most = allreduce_loop::kMaxBytes) {
  for (const std::size_t bytes : allreduce_loop::kSizes) {
    if (bytes > most) return;
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    const ConstTensorView from = vector_view(in, count);
    const allreduce_loop::Time time = allreduce_loop::measure(
        bytes, [&] { group.all_reduce(from, vector_view(out, count), ReduceOp::sum).wait(); },
        [&] { group.barrier(); });
    if (group.rank() == 0) allreduce_loop::report(what, bytes, time);
  }
}

void measure_copy(Communicator& group, kernels::Device& device, const float* in, float* out) {
  for (const std::size_t bytes : {allreduce_loop::kMaxBytes / 4, allreduce_loop::kMaxBytes}) {
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
    const ConstTensorView from = vector_view(in, count);
    const TensorView to = vector_view(out, count);
    for (const bool streaming : {false, true}) {
      const kernels::ReduceArgs copy = {
          .destinations = {&to, 1}, .sources = {&from, 1}, .streaming = streaming};
      const allreduce_loop::Time time = allreduce_loop::measure(
          bytes, [&] { kernels::reduce(device, copy); }, [&] { group.barrier(); });
      if (group.rank() == 0) allreduce_loop::report("copy", bytes, time);
    }
  }
}

void measure_small(Communicator& group, std::string_view option) {
  constexpr std::size_t kSmall = allreduce_loop::kSizes.front();
  if (option == "--small-traced") {
    collectives::trace::Recorder::open(collectives::trace::create_record_memory());
  }
  float* const in = allreduce_loop::private_buffer();
  float* const out = allreduce_loop::private_buffer();
  measure_all_reduce(group, option.substr(2).data(), in, out, kSmall);
}

void run_rank(int rank, MemoryStore& store, ProbeMemory& memory, std::string_view option) {
  allreduce_loop::bind_to_core(rank);
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  const auto group = make_group(rank, store, *device);
  probe(*group, memory);
  if (option == "--probe") return;
  if (option == "--small" || option == "--small-traced") return measure_small(*group, option);
  const bool is_in_place = option == "--in-place";
  float* const in = allreduce_loop::private_buffer();
  float* const out = allreduce_loop::private_buffer();
  const Memory shared_in = group->memory().allocate(allreduce_loop::kMaxBytes, "in");
  const Memory shared_out = group->memory().allocate(allreduce_loop::kMaxBytes, "out");
  auto* const symmetric_in = reinterpret_cast<float*>(shared_in.data());
  auto* const symmetric_out = reinterpret_cast<float*>(shared_out.data());
  measure_all_reduce(*group, "symmetric", symmetric_in, is_in_place ? symmetric_in : symmetric_out);
  measure_all_reduce(*group, "private", in, is_in_place ? in : out);
  measure_copy(*group, *device, in, out);
}

int run(std::string_view option) {
  MemoryStore store;
  void* const at = ::mmap(nullptr, sizeof(ProbeMemory), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  auto& memory = *static_cast<ProbeMemory*>(at);
  const pid_t child = ::fork();
  const int rank = child == 0 ? 1 : 0;
  run_rank(rank, store, memory, option);
  if (child == 0) return 0;
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  try {
    return muster::run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
