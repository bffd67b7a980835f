#include "runtime/world/identity.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/world/slurm.hpp"

namespace muster::runtime {
namespace {

struct Claim {
  std::string_view origin;
  std::string_view rank_name;
  std::string_view size_name;
  int rank = 0;
  int size = 1;
};

/// One way of being told who one is. `mark`: the variable without which the set is not there,
/// whatever else is; empty when rank and size say it themselves.
struct Source {
  std::string_view origin;
  std::string_view rank_name;
  std::string_view size_name;
  std::string_view mark;
};

constexpr std::string_view kMusterRank = "MUSTER_RANK";
constexpr std::string_view kMusterSize = "MUSTER_WORLD_SIZE";
constexpr std::string_view kTorchrunMark = "TORCHELASTIC_RUN_ID";

/// In the order of belief. The plain set comes after these: it needs two variables more.
constexpr std::array<Source, 5> kSources = {{
    {"muster", kMusterRank, kMusterSize, ""},
    {"torchrun", "RANK", "WORLD_SIZE", kTorchrunMark},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""},
    {"PMI", "PMI_RANK", "PMI_SIZE", ""},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS"},
}};

[[noreturn]] void refuse_part(std::string_view origin, std::string_view there,
                              std::string_view missing) {
  throw Error(ErrorCode::config,
              fmt::format("{} is set but {} is not: this looks like a rank started by {}, but not "
                          "how many there are or which one it is; set both, or unset {}",
                          there, missing, origin, there));
}

void check_range(const Claim& claim) {
  if (claim.size < 1) {
    throw Error(ErrorCode::config,
                fmt::format("{} is {}: a world has at least 1 rank", claim.size_name, claim.size));
  }
  if (claim.rank < 0 || claim.rank >= claim.size) {
    throw Error(ErrorCode::config,
                fmt::format("{} is {} but {} is {}: ranks go from 0 to {}", claim.rank_name,
                            claim.rank, claim.size_name, claim.size, claim.size - 1));
  }
}

std::optional<Claim> read_claim(const Source& source, const Environment& environment) {
  if (!source.mark.empty() && !environment.has(source.mark)) return std::nullopt;
  const auto rank = environment.number(source.rank_name);
  const auto size = environment.number(source.size_name);
  if (!rank && !size && source.mark.empty()) return std::nullopt;
  if (!rank) refuse_part(source.origin, size ? source.size_name : source.mark, source.rank_name);
  if (!size) refuse_part(source.origin, source.rank_name, source.size_name);
  const Claim claim{source.origin, source.rank_name, source.size_name, *rank, *size};
  check_range(claim);
  if (source.origin == "Slurm" && claim.size == 1) return std::nullopt;  // a shell from srun --pty
  return claim;
}

/// All four or none.
std::optional<Claim> read_plain_claim(const Environment& environment) {
  constexpr std::array<std::string_view, 4> kNames = {"RANK", "WORLD_SIZE", "MASTER_ADDR",
                                                      "MASTER_PORT"};
  std::string_view there;
  std::string_view missing;
  for (const std::string_view name : kNames) (environment.has(name) ? there : missing) = name;
  if (there.empty()) return std::nullopt;
  if (!missing.empty()) refuse_part("hand", there, missing);
  const Claim claim{"environment", kNames[0], kNames[1], *environment.number(kNames[0]),
                    *environment.number(kNames[1])};
  check_range(claim);
  return claim;
}

std::optional<Claim> choose_claim(const Environment& environment, Identity& identity) {
  std::optional<Claim> best;
  for (const Source& source : kSources) {
    const auto claim = read_claim(source, environment);
    if (!claim) continue;
    if (!best) {
      best = claim;
    } else if (claim->size != best->size) {
      identity.remarks.push_back(fmt::format(
          "{} says {} ranks ({}), {} says {} ({}): {} is believed", best->origin, best->size,
          best->size_name, claim->origin, claim->size, claim->size_name, best->origin));
    }
  }
  return best ? best : read_plain_claim(environment);
}

/// MASTER_ADDR and MASTER_PORT. Under torchrun its agent already serves a store of its own on that
/// port: ours takes the next one.
collectives::Endpoint store_address(const Environment& environment, const Claim& claim) {
  const auto host = environment.find("MASTER_ADDR");
  const auto port = environment.find("MASTER_PORT");
  if (!host || !port) {
    throw Error(
        ErrorCode::config,
        fmt::format("started by {} as rank {} of {}, but {} is not set: set MASTER_ADDR to "
                    "the address of rank 0's host, MASTER_PORT to a free port there and "
                    "MUSTER_SECRET_FILE to a file that all ranks can read, the same for all",
                    claim.origin, claim.rank, claim.size, host ? "MASTER_PORT" : "MASTER_ADDR"));
  }
  std::uint16_t number = collectives::parse_port(*port, "MASTER_PORT");
  const bool is_taken = claim.origin == "torchrun" &&
                        environment.find_or("TORCHELASTIC_USE_AGENT_STORE", "False") == "True";
  if (is_taken) number = static_cast<std::uint16_t>(number + 1);
  if (number == 0) {
    throw Error(ErrorCode::config,
                fmt::format("MASTER_PORT is {}: the ranks need a port they all know", *port));
  }
  return {*host, number};
}

std::string job_id(const Environment& environment, const Claim& claim) {
  if (const auto given = environment.find("MUSTER_JOB_ID")) return *given;
  if (claim.origin == "torchrun") {
    return fmt::format("{}.{}", *environment.find(kTorchrunMark),
                       environment.find_or("TORCHELASTIC_RESTART_COUNT", "0"));
  }
  if (claim.origin == "Slurm") {
    return fmt::format("{}.{}.{}", environment.find_or("SLURM_JOB_ID", "0"),
                       environment.find_or("SLURM_STEP_ID", "0"),
                       environment.find_or("SLURM_RESTART_COUNT", "0"));
  }
  return fmt::format("{}:{}", environment.find_or("MASTER_ADDR", ""),
                     environment.find_or("MASTER_PORT", ""));
}

Entry choose_entry(const Environment& environment, const Claim& claim) {
  if (claim.origin == "muster" && environment.has("MUSTER_TICKET_FD")) return Entry::ticket;
  if (claim.size == 1) return Entry::alone;
  const bool has_address = environment.has("MASTER_ADDR") && environment.has("MASTER_PORT") &&
                           environment.has("MUSTER_SECRET_FILE");
  const bool is_mpi = claim.origin == "Open MPI" || claim.origin == "PMI";
  return is_mpi && !has_address ? Entry::messenger : Entry::address;
}

std::optional<int> local_size(const Environment& environment, const Claim& claim) {
  if (claim.origin == "Open MPI") return environment.number("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (claim.origin == "PMI") return environment.number("MPI_LOCALNRANKS");
  return environment.number("LOCAL_WORLD_SIZE");
}

void check_single(const Environment& environment) {
  check_slurm_numbers(environment);
  for (const std::string_view name : {"PMIX_RANK", "PMIX_NAMESPACE"}) {
    if (environment.has(name)) {
      throw Error(
          ErrorCode::config,
          fmt::format("{} is set, so a PMIx launcher started this process, but nothing says "
                      "how many ranks there are; start it with Open MPI's mpirun, with srun "
                      "without --mpi=pmix, or unset {}",
                      name, name));
    }
  }
}

}  // namespace

Identity read_identity(const Environment& environment) {
  Identity identity;
  const std::optional<Claim> claim = choose_claim(environment, identity);
  if (!claim) {
    check_single(environment);
    return identity;
  }
  if (claim->origin == "Slurm") check_slurm_numbers(environment);
  identity.origin = claim->origin;
  identity.rank = claim->rank;
  identity.size = claim->size;
  identity.local_size = local_size(environment, *claim);
  identity.entry = choose_entry(environment, *claim);
  if (identity.entry == Entry::ticket) {
    identity.ticket_fd = *environment.number("MUSTER_TICKET_FD");
  }
  if (identity.entry == Entry::messenger) {
    identity.interface = environment.find_or("MUSTER_INTERFACE", "");
  }
  if (identity.entry == Entry::address) {
    identity.store = store_address(environment, *claim);
    identity.secret_file = environment.find_or("MUSTER_SECRET_FILE", "");
    identity.job_id = job_id(environment, *claim);
  }
  return identity;
}

}  // namespace muster::runtime
