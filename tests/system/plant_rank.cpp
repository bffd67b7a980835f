// A rank for tests of what a group does when one of its ranks misbehaves: calls one collective
// after the other, and at one of them one rank does as MUSTER_PLANT says:
//
//   RANK:CALL:FAULT    FAULT: count, dtype, order, kill, stop, exit
//   none
//
// Environment: MUSTER_PLANT_BACKEND (default auto), MUSTER_PLANT_BYTES (default 4096),
//              MUSTER_PLANT_TIMEOUT (seconds, default 2), MUSTER_PLANT_CALLS (default 200)
//
// Every rank whose call fails prints `failed at T: TEXT` with T in seconds of the monotonic clock,
// aborts the group, and exits with 3; who ends well prints `ended well`.

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "tests/system/rank_program.hpp"

namespace muster {
namespace {

using collectives::CallOptions;
using collectives::Communicator;
using collectives::ReduceOp;
using test::setting;

struct Plant {
  int rank = -1;
  int call = -1;
  std::string fault;

  static Plant read() {
    const std::string text = setting("MUSTER_PLANT", "none");
    if (text == "none") return {};
    const std::size_t first = text.find(':');
    const std::size_t second = text.find(':', first + 1);
    return {std::stoi(text.substr(0, first)), std::stoi(text.substr(first + 1, second - first - 1)),
            text.substr(second + 1)};
  }
};

void raise_for_good(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// The calls of one rank, all of them in turn.
class Caller {
 public:
  Caller(Communicator& group, std::size_t bytes, double timeout_s)
      : group_(group),
        options_{.label = "plant", .timeout_s = timeout_s},
        count_(static_cast<std::int64_t>(bytes / sizeof(float))),
        in_(bytes / sizeof(float) * static_cast<std::size_t>(group.size()), 1.0F),
        out_(in_.size()) {}

  void call(int number) { calls()[static_cast<std::size_t>(number) % kKinds](count_); }
  void call_with_other_count(int number) {
    calls()[static_cast<std::size_t>(number) % kKinds](count_ - 1);
  }
  void call_with_other_dtype() {
    const TensorView data(reinterpret_cast<std::byte*>(in_.data()), Dtype::i32, 1, count_);
    group_.broadcast(data, 0, options_).wait();
  }

 private:
  static constexpr std::size_t kKinds = 6;

  std::vector<std::function<void(std::int64_t)>> calls() {
    const auto in = [this](std::int64_t count) { return vector_view(in_.data(), count); };
    const auto out = [this](std::int64_t count) { return vector_view(out_.data(), count); };
    const int ranks = group_.size();
    return {
        [=, this](std::int64_t n) {
          group_.all_reduce(in(n), out(n), ReduceOp::sum, options_).wait();
        },
        [=, this](std::int64_t n) { group_.all_gather(in(n), out(n * ranks), options_).wait(); },
        [=, this](std::int64_t n) {
          group_.reduce_scatter(in(n * ranks), out(n), ReduceOp::sum, options_).wait();
        },
        [=, this](std::int64_t n) { group_.broadcast(out(n), 0, options_).wait(); },
        [=, this](std::int64_t n) {
          group_.all_to_all(in(n * ranks), out(n * ranks), options_).wait();
        },
        [=, this](std::int64_t n) {
          group_.reduce(in(n), out(n), ReduceOp::max, 0, options_).wait();
        },
    };
  }

  Communicator& group_;
  CallOptions options_;
  std::int64_t count_;
  std::vector<float> in_;
  std::vector<float> out_;
};

void misbehave(Caller& caller, int number, const std::string& fault) {
  if (fault == "count") return caller.call_with_other_count(number);
  if (fault == "dtype") return caller.call_with_other_dtype();
  if (fault == "order") return caller.call(number + 1);
  if (fault == "kill") raise_for_good(SIGKILL);
  if (fault == "stop") raise_for_good(SIGSTOP);
  if (fault == "exit") ::_exit(5);
  throw Error(ErrorCode::config, fmt::format("MUSTER_PLANT: no fault \"{}\"", fault));
}

int run_calls(runtime::World& world) {
  const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
  const auto group = test::open_group(world, "plant", "MUSTER_PLANT_BACKEND", *device);
  const Plant plant = Plant::read();
  Caller caller(*group, std::stoul(setting("MUSTER_PLANT_BYTES", "4096")),
                std::stod(setting("MUSTER_PLANT_TIMEOUT", "2")));
  try {
    for (int number = 0; number < std::stoi(setting("MUSTER_PLANT_CALLS", "200")); ++number) {
      if (world.rank == plant.rank && number == plant.call) {
        misbehave(caller, number, plant.fault);
      } else {
        caller.call(number);
      }
    }
  } catch (const Error& error) {
    group->abort(error.what());
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    fmt::print("failed at {:.4f}: {}\n", std::chrono::duration<double>(now).count(), error.what());
    std::fflush(stdout);
    return 3;
  }
  fmt::print("ended well\n");
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace muster

int main() {
  return muster::test::run_rank(muster::run_calls);
}
