#include "launcher/options.hpp"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/number.hpp"
#include "runtime/config/names.hpp"

namespace muster::launcher {
namespace {

using runtime::nearest;
using runtime::quote;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kExamples = {{
    {"muster",
     "Example: muster train job.toml -n 2\n"
     "         trains the model that job.toml describes on two ranks of this machine\n"},
    {"train",
     "Example: muster train job.toml -n 2 --set training.steps=50\n"
     "         mpirun -n 2 muster train job.toml\n"},
    {"generate",
     "Example: muster generate --checkpoint out --prompt \"Once upon a time\" --tokens 100\n"},
    {"plan", "Example: muster plan job.toml -n 2 --show-config\n"},
    {"bench",
     "Example: muster bench all_reduce --ranks 2 -b 8 -e 64M -f 2\n"
     "         measures all_reduce from 8 B to 64 MiB between two ranks of this machine\n"
     "         muster bench broadcast --ranks 4 --backend tcp --algo chain\n"
     "         muster bench compare before.json after.json\n"},
    {"probe",
     "Example: muster probe --ranks 2 --html links.html\n"
     "         mpirun -n 8 muster probe\n"},
    {"status", "Example: muster status 3f2a90c1\n"},
    {"dump", "Example: muster dump 3f2a90c1 --entries 10\n"},
}};

/// Help whose first lines are an example.
class ExampleFirst final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string example;
    for (const auto& [command, text] : kExamples) {
      if (command == app->get_name()) example = std::string(text) + "\n";
    }
    return example + CLI::Formatter::make_help(app, std::move(name), mode);
  }
};

/// Options as they were typed; numbers are read afterwards, so that each error names its limit.
struct Typed {
  std::string ranks;
  std::string log_level = "info";
  std::string grace = "5";
  std::string stall_warning = "30";
  std::string tokens = "200";
  std::string temperature = "0.8";
  std::string seed = "1";
  TrainCommand train;
  GenerateCommand generate;
  PlanCommand plan;
  BenchLine bench;
  ProbeLine probe;
  StatusLine status;
};

void add_job_options(CLI::App& app, std::string& job, std::vector<std::string>& settings,
                     std::string& ranks) {
  app.add_option("job", job, "job file (TOML)")->required()->option_text("JOB.toml");
  app.add_option("-n,--ranks", ranks, fmt::format("number of ranks, 1 to {}; default 1", kMaxRanks))
      ->option_text("N");
  app.add_option("--set", settings, "change a key of the job file; may be given several times")
      ->option_text("SECTION.KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

void add_train(CLI::App& app, Typed& typed) {
  CLI::App& train = *app.add_subcommand("train", "train a model");
  add_job_options(train, typed.train.job, typed.train.settings, typed.ranks);
  train.add_option("--log-level", typed.log_level, "debug, info, warning or error; default info")
      ->option_text("LEVEL");
  train
      .add_option("--grace", typed.grace,
                  "time from Ctrl-C (or SIGTERM) to the end of ranks that are still saving; "
                  "default 5")
      ->option_text("SECONDS");
  train
      .add_option("--stall-warning", typed.stall_warning,
                  "say who waits for whom when a rank waits so long in a collective; default 30")
      ->option_text("SECONDS");
}

void add_generate(CLI::App& app, Typed& typed) {
  CLI::App& generate = *app.add_subcommand("generate", "sample text from a checkpoint");
  generate
      .add_option("checkpoint,--checkpoint", typed.generate.options.checkpoint,
                  "output folder of a job, or one of its step-N folders")
      ->required()
      ->option_text("FOLDER");
  generate.add_option("--prompt", typed.generate.options.prompt, "how the text begins")
      ->option_text("TEXT");
  generate.add_option("--tokens,--max-tokens", typed.tokens, "most tokens to write; default 200")
      ->option_text("N");
  generate
      .add_option("--temperature", typed.temperature,
                  "0: always the likeliest token; higher: more varied; default 0.8")
      ->option_text("T");
  generate.add_option("--seed", typed.seed, "another seed, another text; default 1")
      ->option_text("N");
}

void add_plan(CLI::App& app, Typed& typed) {
  CLI::App& plan = *app.add_subcommand("plan", "show how a job would be run, without training");
  add_job_options(plan, typed.plan.job, typed.plan.settings, typed.ranks);
  plan.add_flag("--show-program", typed.plan.show_program, "the ops of a step, after all passes");
  plan.add_flag("--show-config", typed.plan.show_config, "every key of the job with its value");
}

LogLevel read_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "info") return LogLevel::info;
  if (text == "warning") return LogLevel::warning;
  if (text == "error") return LogLevel::error;
  throw Error(ErrorCode::config,
              fmt::format("--log-level {}: allowed is debug, info, warning or error", quote(text)));
}

Command read_values(const CLI::App& chosen, Typed& typed) {
  if (chosen.get_name() == "bench") {
    if (typed.bench.is_comparison()) return typed.bench.compare_command();
    return typed.bench.bench_command();
  }
  if (chosen.get_name() == "probe") return typed.probe.command();
  if (chosen.get_name() == "status") return typed.status.status_command();
  if (chosen.get_name() == "dump") return typed.status.dump_command();
  const std::optional<int> ranks = typed.ranks.empty()
                                       ? std::optional<int>()
                                       : read_number<int>("-n", typed.ranks, 1, kMaxRanks);
  if (chosen.get_name() == "train") {
    typed.train.ranks = ranks;
    typed.train.log_level = read_log_level(typed.log_level);
    typed.train.grace_s = read_number<double>("--grace", typed.grace, 0.0, 86400.0);
    typed.train.stall_warning_s =
        read_number<double>("--stall-warning", typed.stall_warning, 0.1, 86400.0);
    return typed.train;
  }
  if (chosen.get_name() == "plan") {
    typed.plan.ranks = ranks.value_or(1);
    return typed.plan;
  }
  runtime::GenerateOptions& options = typed.generate.options;
  options.tokens = read_number<std::int64_t>("--tokens", typed.tokens, 1, 1'000'000);
  options.temperature = read_number<double>("--temperature", typed.temperature, 0.0, 100.0);
  options.seed = read_number<std::int64_t>("--seed", typed.seed, 0, INT64_MAX);
  return typed.generate;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : fmt::format(", did you mean {}?", near);
}

void check_command(const CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (arguments.empty()) {
    throw Error(ErrorCode::config,
                fmt::format("no command; one of {} is needed, muster --help shows more",
                            CLI::detail::join(names, ", ")));
  }
  const std::string& first = arguments.front();
  if (first.starts_with('-')) return;
  for (const std::string& name : names) {
    if (name == first) return;
  }
  throw Error(ErrorCode::config,
              fmt::format("unknown command {}{}; there are {}", quote(first),
                          did_you_mean(first, names), CLI::detail::join(names, ", ")));
}

void check_rest(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return;
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string& first = rest.front();
  const std::string name = first.substr(0, first.find('='));
  const bool is_option = first.starts_with('-') && first.size() > 1;
  throw Error(ErrorCode::config,
              fmt::format("{} {}{}; {} --help lists what there is",
                          is_option ? "unknown option" : "unexpected argument", quote(first),
                          is_option ? did_you_mean(name, known) : "",
                          app.get_parent() == nullptr ? "muster" : "muster " + app.get_name()));
}

void parse(CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::CallForVersion&) {
    throw;
  } catch (const CLI::ParseError& error) {
    // An option that nobody knows explains most of what the library finds missing.
    for (const CLI::App* chosen : app.get_subcommands()) check_rest(*chosen);
    check_rest(app);
    throw Error(ErrorCode::config, error.what());
  }
}

}  // namespace

Command parse_command(std::span<const std::string> arguments, std::string_view version) {
  Typed typed;
  CLI::App app{"Starts the ranks of a training job, measures, plans, trains.", "muster"};
  app.formatter(std::make_shared<ExampleFirst>());
  app.set_help_flag("-h,--help", "print this text");
  app.set_version_flag("--version", std::string(version), "print version and build");
  app.allow_extras();
  app.prefix_command(false);
  add_train(app, typed);
  add_generate(app, typed);
  add_plan(app, typed);
  typed.bench.add_to(app);
  typed.probe.add_to(app);
  typed.status.add_to(app);
  for (CLI::App* command : app.get_subcommands(nullptr)) command->allow_extras();
  check_command(app, arguments);
  try {
    parse(app, arguments);
  } catch (const CLI::CallForHelp&) {
    return ShowText{app.help()};
  } catch (const CLI::CallForVersion&) {
    return ShowText{std::string(version) + "\n"};
  }
  check_rest(app);
  if (app.get_subcommands().empty()) check_command(app, {});
  const CLI::App& chosen = *app.get_subcommands().front();
  check_rest(chosen);
  return read_values(chosen, typed);
}

}  // namespace muster::launcher
