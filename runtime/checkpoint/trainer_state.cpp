#include "runtime/checkpoint/trainer_state.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

/// Applies `use(key, member)` to every member; `State` is TrainerState or const TrainerState.
template <typename State, typename Use>
void for_each_member(State& state, Use use) {
  use("step", state.step);
  use("updates", state.updates);
  use("tokens", state.tokens);
  use("samples", state.samples);
  use("seed", state.seed);
  use("loss_scale", state.loss_scale);
  use("clean_steps", state.clean_steps);
  use("skips_at_min", state.skips_at_min);
  use("world", state.world);
  use("config", state.config);
}

}  // namespace

std::string to_json(const TrainerState& state) {
  Json json;
  json["format"] = kFormat;
  for_each_member(state, [&](const char* key, const auto& member) { json[key] = member; });
  return json.dump(1) + "\n";
}

TrainerState parse_trainer_state(std::string_view text, const std::string& file) {
  TrainerState state;
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat) {
      throw Error(ErrorCode::config, fmt::format("{} has format {}; this program reads format {}",
                                                 file, json.at("format").dump(), kFormat));
    }
    for_each_member(state, [&](const char* key, auto& member) { json.at(key).get_to(member); });
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::config,
                fmt::format("{} is not the state of a trainer: {}", file, error.what()));
  }
  return state;
}

}  // namespace muster::runtime
