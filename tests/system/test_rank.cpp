// A rank for tests of the launcher: joins the world as muster-rank does, takes steps that do
// nothing, and misbehaves as the job's name says: words "RANK:ACTION" or "RANK:ACTION=VALUE".

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "collectives/bootstrap/build_id.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "launcher/options.hpp"
#include "launcher/rank_session.hpp"
#include "runtime/config/job.hpp"
#include "runtime/control/exit_codes.hpp"
#include "runtime/world/cores.hpp"
#include "runtime/world/join.hpp"

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void sleep_for_ever() {
  while (true) std::this_thread::sleep_for(1h);
}

/// Starts a process that outlives this one if nobody ends it.
void leave_a_child(bool has_own_session) {
  const pid_t pid = ::fork();
  if (pid != 0) return;
  if (has_own_session) ::setsid();
  ::execlp("sleep", "sleep", "1000", nullptr);
  ::_exit(127);
}

void write_text(int descriptor, const std::string& text) {
  [[maybe_unused]] const ssize_t ignored = ::write(descriptor, text.data(), text.size());
}

using Action = std::function<void(const std::string& value)>;

/// Done once all ranks have joined.
const std::map<std::string, Action>& actions() {
  static const std::map<std::string, Action> table = {
      {"exit", [](const std::string& value) { ::_exit(std::stoi(value)); }},
      {"signal",
       [](const std::string& value) {
         ::signal(std::stoi(value), SIG_DFL);  // sanitizers handle some
         ::raise(std::stoi(value));
       }},
      {"freeze", [](const std::string&) { ::raise(SIGSTOP); }},
      {"sleep", [](const std::string&) { sleep_for_ever(); }},
      {"deaf", [](const std::string&) { ::execlp("sleep", "sleep", "1000", nullptr); }},
      {"child", [](const std::string&) { leave_a_child(false); }},
      {"session", [](const std::string&) { leave_a_child(true); }},
      {"device", [](const std::string& value) { throw Error(ErrorCode::device, value); }},
      {"config", [](const std::string& value) { throw Error(ErrorCode::config, value); }},
      {"peer", [](const std::string& value) { throw Error(ErrorCode::peer_lost, value); }},
      {"write", [](const std::string& value) { write_text(1, value); }},
      {"complain", [](const std::string& value) { write_text(2, value); }},
      {"newline", [](const std::string&) { write_text(1, "\n"); }},
      {"colours", [](const std::string&) { write_text(1, "50%\r\x1b[31mred\x1b[0m\n"); }},
      {"megabyte", [](const std::string&) { write_text(1, std::string(1 << 20, 'x')); }},
      {"environment",
       [](const std::string& value) {
         const char* const found = std::getenv(value.c_str());
         write_text(1, value + "=" + (found == nullptr ? "(none)" : found) + "\n");
       }},
      {"processors",
       [](const std::string&) {
         write_text(1, "processors " + runtime::cpu_list_text(runtime::affinity_cpus()) + "\n");
       }},
      {"wait", [](const std::string& value) {
         std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(value)));
       }}};
  return table;
}

void misbehave(const std::string& plan, int rank) {
  std::istringstream words(plan);
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || std::stoi(word) != rank) continue;
    const std::size_t equals = word.find('=', colon);
    const std::string action = word.substr(colon + 1, equals - colon - 1);
    actions().at(action)(equals == std::string::npos ? "" : word.substr(equals + 1));
  }
}

/// What happens in a step: nothing, or with the word "together" in the job's name an all_reduce
/// among all ranks.
class Step {
 public:
  Step(const std::string& plan, runtime::World& world) : rank_(world.rank) {
    if (plan.find("together") == std::string::npos) return;
    collectives::GroupSpec spec{.name = "data", .rank = world.rank, .size = world.size};
    for (const runtime::Member& member : world.members) spec.hosts.push_back(member.host_id);
    device_ = kernels::open_device("cpu", kernels::DeviceOptions());
    group_ = collectives::create_communicator("shm", spec, *world.store, *device_,
                                              Deadline::after_seconds(20.0));
  }

  int rank() const { return rank_; }

  /// Returns whether to stop: a group stops together.
  bool take(std::int64_t number, bool is_stop_asked) {
    std::this_thread::sleep_for(10ms);
    if (group_ == nullptr) return is_stop_asked;
    collectives::trace::Recorder::current()->set_step(number);
    const collectives::trace::PhaseScope phase("step");
    values_[0] = is_stop_asked ? 1.0F : 0.0F;
    const TensorView view = vector_view(values_.data(), std::ssize(values_));
    group_
        ->all_reduce(view, view, collectives::ReduceOp::sum,
                     {.label = "gradients", .timeout_s = 60.0})
        .wait();
    return values_[0] > 0.0F;
  }

 private:
  int rank_;
  std::array<float, 4> values_{};
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<collectives::Communicator> group_;
};

int take_steps(RankSession& session, const runtime::JobConfig& config, runtime::Reporter& reporter,
               Step& work) {
  for (std::int64_t step = 1; step <= config.training.steps; ++step) {
    const bool is_stopped = work.take(step, session.stop().is_asked());
    if (work.rank() == 0) {
      reporter.progress({.step = step, .steps = config.training.steps, .loss = 1.0});
    }
    if (is_stopped) {
      if (work.rank() == 0) reporter.lines("stopped and saved");
      return runtime::kExitStopped;
    }
  }
  return 0;
}

int train(RankSession& session, const TrainCommand& command) {
  const runtime::Identity& identity = session.identify(command.log_level);
  const runtime::JobConfig config = runtime::load_job(command.job, command.settings);
  runtime::World world =
      runtime::join_world(identity, {.build_id = collectives::build_id(), .timeout_s = 20.0});
  write_text(1, fmt::format("pid {}\n", ::getpid()));
  world.store->barrier("together", world.size, Deadline::after_seconds(20.0));
  const auto reporter = session.reporter(config.logging.interval);
  if (world.rank == 0) reporter->lines("report of rank 0");
  Step work(config.job.name, world);
  misbehave(config.job.name, world.rank);
  const int code = take_steps(session, config, *reporter, work);
  runtime::leave_world(world, 20.0);
  return code;
}

}  // namespace
}  // namespace muster::launcher

int main(int count, char** words) {
  using namespace muster::launcher;
  RankSession session;
  return session.run([&] {
    const std::vector<std::string> arguments(words + 1, words + count);
    return train(session, std::get<TrainCommand>(parse_command(arguments, "test")));
  });
}
