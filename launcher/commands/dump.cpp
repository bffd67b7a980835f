#include "launcher/commands/dump.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "collectives/trace/describe.hpp"
#include "kernels/base/error.hpp"
#include "launcher/process_state.hpp"
#include "launcher/running_job.hpp"
#include "runtime/world/host.hpp"

namespace muster::launcher {
namespace {

namespace trace = collectives::trace;
using Json = nlohmann::ordered_json;

std::string_view to_string(trace::Outcome outcome) {
  switch (outcome) {
    case trace::Outcome::running: return "running";
    case trace::Outcome::failed: return "failed";
    case trace::Outcome::done:
    case trace::Outcome::done_at_once: break;
  }
  return "done";
}

Json call_json(const trace::CallView& call) {
  const collectives::Signature& signature = call.signature;
  Json json = {{"group", call.group},
               {"lane", call.lane},
               {"sequence", signature.sequence()},
               {"kind", collectives::to_string(signature.kind())},
               {"dtype", muster::to_string(signature.dtype())},
               {"count", signature.count},
               {"label", call.label}};
  if (is_reduction(signature.kind())) json["op"] = collectives::to_string(signature.op());
  if (has_root(signature.kind())) json["root"] = signature.root();
  if (call.to != collectives::Call::kNobody) json["to"] = call.to;
  if (call.from != collectives::Call::kNobody) json["from"] = call.from;
  return json;
}

Json entry_json(const trace::EntryView& entry) {
  Json json = call_json(entry.call);
  json["number"] = entry.number;
  json["outcome"] = to_string(entry.outcome);
  json["begin_ns"] = entry.begin_ns;
  if (entry.outcome != trace::Outcome::running) json["end_ns"] = entry.end_ns;
  return json;
}

Json rank_json(const RunningRank& rank, std::size_t most) {
  Json json = {{"rank", rank.rank}, {"pid", rank.pid}};
  json["state"] = std::string(1, rank.has_ended ? 'X' : state_of(rank.pid).code);
  json["entries"] = Json::array();
  if (!rank.record.is_open()) return json;
  const trace::NowView now = rank.record.now();
  json["phase"] = now.phase;
  json["phase_since_ns"] = now.phase_since_ns;
  json["step"] = now.step < 0 ? Json() : Json(now.step);
  json["calls"] = now.calls;
  json["waits"] = Json::array();
  for (const trace::WaitView& wait : now.waits) {
    Json each = call_json(wait.call);
    each["peer"] = wait.peer_rank;
    each["since_ns"] = wait.since_ns;
    json["waits"].push_back(std::move(each));
  }
  for (const trace::EntryView& entry : rank.record.last_calls(most)) {
    json["entries"].push_back(entry_json(entry));
  }
  return json;
}

std::string json_text(const RunningJob& job, std::size_t most) {
  Json json = {{"job", job.name.id},
               {"launcher", job.name.launcher},
               {"host", runtime::host_name()},
               {"now_ns", trace::Clock::monotonic_ns()},
               {"ranks", Json::array()}};
  for (const RunningRank& rank : job.ranks) json["ranks"].push_back(rank_json(rank, most));
  // Labels may have been clipped within a character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const RunningJob& job, std::size_t most) {
  std::string text;
  for (const RunningRank& rank : job.ranks) {
    text += fmt::format("rank {} (pid {})\n", rank.rank, rank.pid);
    if (!rank.record.is_open()) continue;
    const std::vector<trace::EntryView> entries = rank.record.last_calls(most);
    const std::int64_t now_ns = trace::Clock::monotonic_ns();
    for (const trace::EntryView& entry : entries) {
      text += fmt::format("  #{} {}\n", entry.number, trace::describe(entry, now_ns));
    }
  }
  return text;
}

}  // namespace

int run_dump_command(const DumpCommand& command) {
  const RunningJob job = open_running_job(command.job);
  const auto most = static_cast<std::size_t>(command.entries);
  const std::string text = command.is_json ? json_text(job, most) : text_of(job, most);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "cannot write to standard output");
  }
  return 0;
}

}  // namespace muster::launcher
