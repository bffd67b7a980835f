#include "runtime/probe/pair_meter.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "kernels/base/seconds.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPings = 16;
constexpr std::int64_t kChunk = std::int64_t{64} * 1024;
constexpr int kGroup = 4;           // chunks that get one answer
constexpr int kMostGroups = 16;     // 4 MiB
constexpr int kBurstChunks = 6;     // not timed
constexpr double kStreamS = 0.035;  // of timed chunks
constexpr double kShortS = 0.01;
constexpr int kRepeats = 3;
constexpr std::int64_t kExchange = std::int64_t{256} * 1024;
constexpr double kExchangeS = 0.02;
constexpr double kMostExchanges = 16.0;
constexpr std::size_t kBytes = 2 * kExchange;

constexpr double kTimeoutS = 30.0;
const collectives::CallOptions kOptions{.label = "probe", .timeout_s = kTimeoutS};

template <typename T>
void send(collectives::Communicator& group, const T& value, int to) {
  group.send({reinterpret_cast<const std::byte*>(&value), Dtype::u8, 1, sizeof(T)}, to, kOptions)
      .wait();
}

template <typename T>
T receive(collectives::Communicator& group, int from) {
  T value{};
  group.receive({reinterpret_cast<std::byte*>(&value), Dtype::u8, 1, sizeof(T)}, from, kOptions)
      .wait();
  return value;
}

}  // namespace

PairMeter::PairMeter(collectives::Communicator& group, MemorySource& memory)
    : group_(group), memory_(memory.allocate(kBytes, "the pair probe")) {}

PairTimes PairMeter::measure(int partner) {
  const bool leads = group_.rank() < partner;
  PairTimes times;
  ping(partner, times);
  times.latency_s = share(partner, times.latency_s, leads);
  times.usual_latency_s = share(partner, times.usual_latency_s, leads);
  const double first = leads ? stream_out(partner) : stream_in(partner);
  const double second = leads ? stream_in(partner) : stream_out(partner);
  times.out_bytes_per_s = leads ? first : second;
  times.in_bytes_per_s = leads ? second : first;
  const double both = exchange(partner, std::min(times.out_bytes_per_s, times.in_bytes_per_s));
  const double other = share(partner, both, leads);
  times.both_bytes_per_s = std::min(other, share(partner, both, !leads));
  return times;
}

// The value of the one whose it is, on both.
double PairMeter::share(int partner, double value, bool is_mine) {
  if (!is_mine) return receive<double>(group_, partner);
  send(group_, value, partner);
  return value;
}

void PairMeter::ping(int partner, PairTimes& times) {
  std::array<double, kPings> trips{};
  for (int i = 0; i < kPings; ++i) {
    if (group_.rank() > partner) {
      send(group_, receive<std::int64_t>(group_, partner), partner);
      continue;
    }
    const Clock::time_point begin = Clock::now();
    send(group_, std::int64_t{i}, partner);
    receive<std::int64_t>(group_, partner);
    trips[static_cast<std::size_t>(i)] = seconds_between(begin, Clock::now());
  }
  std::sort(trips.begin(), trips.end());
  times.latency_s = trips.front() / 2.0;
  times.usual_latency_s = trips[kPings / 2] / 2.0;
}

// The receiver measures, and says whether the stream is to be repeated: 1 or 0.
double PairMeter::stream_out(int partner) {
  double best = 0.0;
  for (int i = 0; i < kRepeats; ++i) {
    best = std::max(best, send_stream(partner));
    if (receive<std::int64_t>(group_, partner) == 0) break;
  }
  return best;
}

double PairMeter::stream_in(int partner) {
  double best = 0.0;
  for (int i = 0; i < kRepeats; ++i) {
    const double rate = receive_stream(partner);
    best = std::max(best, rate);
    const bool is_short =
        static_cast<double>((kMostGroups * kGroup - kBurstChunks) * kChunk) < kShortS * rate;
    send(group_, std::int64_t{is_short ? 1 : 0}, partner);
    if (!is_short) break;
  }
  return best;
}

// The answer to a group is read after the next group was sent, so that the link never rests; when
// it says that this is enough, the group just sent was the last.
double PairMeter::send_stream(int partner) {
  const ConstTensorView chunk(memory_.data(), Dtype::u8, 1, kChunk);
  bool is_enough = false;
  for (int group = 0; group < kMostGroups && !is_enough; ++group) {
    for (int i = 0; i < kGroup; ++i) group_.send(chunk, partner, kOptions).wait();
    if (group > 0) is_enough = receive<std::int64_t>(group_, partner) != 0;
  }
  receive<std::int64_t>(group_, partner);  // the answer to the last group
  return receive<double>(group_, partner);
}

double PairMeter::receive_stream(int partner) {
  const TensorView chunk(memory_.data(), Dtype::u8, 1, kChunk);
  Clock::time_point begin;
  Clock::time_point end;
  int received = 0;
  int timed = 0;
  int groups = kMostGroups;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < kGroup; ++i) {
      group_.receive(chunk, partner, kOptions).wait();
      const Clock::time_point now = Clock::now();
      if (++received == kBurstChunks) begin = now;
      if (received > kBurstChunks) {
        end = now;
        ++timed;
      }
    }
    const bool is_enough = timed > 0 && seconds_between(begin, end) > kStreamS;
    if (is_enough && groups == kMostGroups) groups = std::min(kMostGroups, group + 2);
    send(group_, std::int64_t{is_enough ? 1 : 0}, partner);
  }
  const double rate = static_cast<double>(timed * kChunk) / seconds_between(begin, end);
  send(group_, rate, partner);
  return rate;
}

double PairMeter::exchange(int partner, double bytes_per_s) {
  const ConstTensorView out(memory_.data(), Dtype::u8, 1, kExchange);
  const TensorView in(memory_.data() + kExchange, Dtype::u8, 1, kExchange);
  const double fitting = kExchangeS * bytes_per_s / static_cast<double>(kExchange);
  const auto count = static_cast<int>(std::clamp(fitting, 1.0, kMostExchanges));
  // The first is not timed: it lets a burst pass, and both begin the second together.
  group_.send_receive(out, partner, in, partner, kOptions).wait();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    group_.send_receive(out, partner, in, partner, kOptions).wait();
  }
  return static_cast<double>(count * kExchange) / seconds_between(begin, Clock::now());
}

}  // namespace muster::runtime
