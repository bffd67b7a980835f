// Time of one training step of a model shape on one rank, and where it goes, op kind by op kind.
//
//   step_bench LAYERS HIDDEN HEADS KV_HEADS FFN VOCAB ROWS SEQ_LEN DTYPE THREADS
//   step_bench 30 576 9 3 1536 49152 4 256 bf16 2        the shape of SmolLM2-135M

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectives/self/self_communicator.hpp"
#include "kernels/base/seconds.hpp"
#include "kernels/devices.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

struct Spent {
  double seconds = 0.0;
  double flops = 0.0;
  double bytes = 0.0;
};

void time_list(const List& list, const BoundList& bound, std::map<std::string, Spent>& by_kind) {
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    const Clock::time_point begin = Clock::now();
    bound.ops()[i]();
    Spent& spent = by_kind[std::string(list.ops[i].kind->name())];
    spent.seconds += seconds_between(begin, Clock::now());
    const Cost cost = list.ops[i].kind->cost(list, list.ops[i]);
    spent.flops += cost.flops;
    spent.bytes += cost.bytes;
  }
}

void print(const std::map<std::string, Spent>& by_kind, double total) {
  std::vector<std::pair<std::string, Spent>> sorted(by_kind.begin(), by_kind.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [kind, spent] : sorted) {
    std::printf("%-24s %8.2f ms %5.1f %% %8.1f GFLOP/s %7.1f GB/s\n", kind.c_str(),
                spent.seconds * 1e3, 100.0 * spent.seconds / total,
                spent.flops / spent.seconds / 1e9, spent.bytes / spent.seconds / 1e9);
  }
}

int run(const std::vector<std::int64_t>& n, Dtype dtype, int threads) {
  const auto device = kernels::open_device("cpu", {.threads = threads});
  collectives::SelfCommunicator group({.name = "bench", .hosts = {"here"}}, *device);
  const EngineOptions options{.shape = {.layers = n[0],
                                        .hidden = n[1],
                                        .heads = n[2],
                                        .kv_heads = n[3],
                                        .head_dim = n[1] / n[2],
                                        .ffn = n[4],
                                        .vocab = n[5],
                                        .max_position = n[7],
                                        .tie_embeddings = true},
                              .batch = {n[6], n[7]},
                              .compute = dtype};
  Engine engine(options, *device, group);
  const auto tokens = static_cast<std::size_t>(options.batch.tokens());
  std::vector<std::int32_t> ids(tokens);
  std::vector<std::int32_t> positions(tokens);
  std::vector<std::int32_t> bounds(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    ids[t] = static_cast<std::int32_t>((t * 7919) % static_cast<std::size_t>(n[5]));
    positions[t] = static_cast<std::int32_t>(t % static_cast<std::size_t>(n[7]));
    bounds[t] = static_cast<std::int32_t>(t) - positions[t];
  }
  engine.fill_frame({ids, ids, positions, bounds}, 1.0F);
  std::map<std::string, Spent> best;
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 4; ++repeat) {
    std::map<std::string, Spent> by_kind;
    const Clock::time_point begin = Clock::now();
    time_list(engine.program().first, engine.bound_first(), by_kind);
    time_list(engine.program().norms, engine.bound_norms(), by_kind);
    time_list(engine.program().update, engine.bound_update(), by_kind);
    const double seconds = seconds_between(begin, Clock::now());
    if (seconds < least) {
      least = seconds;
      best = by_kind;
    }
  }
  std::printf("%s, %d threads: step %.1f ms, %.0f tokens/s, %.1f M parameters, arena %.1f MiB\n",
              device->description().c_str(), threads, least * 1e3,
              static_cast<double>(tokens) / least,
              static_cast<double>(engine.registry().elements()) / 1e6,
              static_cast<double>(engine.program().arena.bytes) / 1048576.0);
  print(best, least);
  return 0;
}

}  // namespace
}  // namespace muster::runtime

int main(int argc, char** argv) {
  if (argc != 11) {
    std::fprintf(stderr,
                 "step_bench LAYERS HIDDEN HEADS KV_HEADS FFN VOCAB ROWS SEQ_LEN DTYPE THREADS\n");
    return 2;
  }
  std::vector<std::int64_t> numbers;
  for (int i = 1; i <= 8; ++i) numbers.push_back(std::atoll(argv[i]));
  const auto dtype = muster::parse_dtype(argv[9]);
  if (!dtype) return 2;
  return muster::runtime::run(numbers, *dtype, std::atoi(argv[10]));
}
