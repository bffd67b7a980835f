#include "launcher/probe_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/number.hpp"
#include "launcher/options.hpp"

namespace muster::launcher {

void ProbeLine::add_to(CLI::App& app) {
  CLI::App& probe = *app.add_subcommand("probe", "measure the links between ranks and hosts");
  const auto add = [&](const char* names, std::string& text, const std::string& help,
                       const char* value) {
    probe.add_option(names, text, help)->option_text(value);
  };
  add("--ranks", ranks_,
      fmt::format("number of ranks on this machine, 1 to {}; default 2", kMaxRanks), "N");
  add("--out", options_.out, "write what was found as TOML, \"\" for nowhere; default cluster.toml",
      "FILE");
  add("--html", options_.html, "write a page with the heat map of the links", "FILE");
  add("--racks", options_.racks, "lines HOST RACK: which hosts are behind one switch", "FILE");
  add("--backend", options_.backend, "auto, shm or tcp; default auto", "NAME");
  probe.add_flag("--fresh", options_.is_fresh, "measure all, whatever an earlier probe has found");
  add("--timeout", timeout_, "longest time of one meeting of the ranks; default 60", "SECONDS");
  add("--hosts", hosts_, "not there yet: start the ranks with mpirun, or by hand on every host",
      "LIST");
}

ProbeCommand ProbeLine::command() const {
  if (!hosts_.empty()) {
    throw Error(ErrorCode::unsupported,
                "--hosts: this muster does not start ranks on other hosts; use mpirun, or start "
                "each by hand with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and "
                "MUSTER_SECRET_FILE");
  }
  ProbeCommand command{.options = options_};
  command.options.timeout_s = read_number<double>("--timeout", timeout_, 0.1, 1e6);
  if (!ranks_.empty()) command.ranks = read_number<int>("--ranks", ranks_, 1, kMaxRanks);
  return command;
}

}  // namespace muster::launcher
