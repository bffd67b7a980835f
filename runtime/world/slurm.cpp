#include "runtime/world/slurm.hpp"

#include <charconv>
#include <numeric>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr int kMostNodes = 1'000'000;

/// Takes a positive number off the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view token) {
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

/// The first of the two variables that is set: the step's value, or the job's.
struct Chosen {
  std::string_view name;
  std::string value;
};

std::optional<Chosen> choose(const Environment& environment, std::string_view step,
                             std::string_view job) {
  for (const std::string_view name : {step, job}) {
    if (const auto value = environment.find(name)) return Chosen{name, *value};
  }
  return std::nullopt;
}

void check_list(const Chosen& list, std::string_view tasks_name, int tasks) {
  const std::vector<int> per_node = parse_tasks_per_node(list.value, list.name);
  const auto sum = std::accumulate(per_node.begin(), per_node.end(), 0LL);
  if (sum != tasks) {
    throw Error(ErrorCode::config,
                fmt::format("Slurm's numbers contradict: {} is {} but {} is \"{}\", which adds up "
                            "to {}",
                            tasks_name, tasks, list.name, list.value, sum));
  }
}

}  // namespace

std::vector<int> parse_tasks_per_node(std::string_view text, std::string_view name) {
  const std::string whole(text);
  const auto refuse = [&] {
    throw Error(ErrorCode::config,
                fmt::format("{} is \"{}\": expected counts like 2(x3),1", name, whole));
  };
  std::vector<int> per_node;
  do {
    const auto tasks = take_number(text);
    if (!tasks) refuse();
    int repeats = 1;
    if (take(text, "(x")) {
      const auto number = take_number(text);
      if (!number || !take(text, ")")) refuse();
      repeats = *number;
    }
    if (repeats > kMostNodes - static_cast<int>(per_node.size())) refuse();
    per_node.insert(per_node.end(), static_cast<std::size_t>(repeats), *tasks);
  } while (take(text, ","));
  if (!text.empty()) refuse();
  return per_node;
}

void check_slurm_numbers(const Environment& environment) {
  const auto tasks_text = choose(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
  if (!tasks_text) return;
  const int tasks = *environment.number(tasks_text->name);
  const auto list = choose(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
  if (list) return check_list(*list, tasks_text->name, tasks);

  const auto nodes = environment.number("SLURM_NNODES");
  const auto per_node = environment.number("SLURM_NTASKS_PER_NODE");
  if (nodes && per_node && std::int64_t{*nodes} * *per_node != tasks) {
    throw Error(ErrorCode::config,
                fmt::format("Slurm's numbers contradict: {} is {} but SLURM_NNODES x "
                            "SLURM_NTASKS_PER_NODE is {} x {}",
                            tasks_text->name, tasks, *nodes, *per_node));
  }
}

}  // namespace muster::runtime
