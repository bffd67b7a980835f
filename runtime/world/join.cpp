#include "runtime/world/join.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/world/census.hpp"
#include "runtime/world/cores.hpp"
#include "runtime/world/entrance.hpp"
#include "runtime/world/host.hpp"

namespace muster::runtime {
namespace {

constexpr std::string_view kTableKey = "world/table";
constexpr std::string_view kAllLeftKey = "world/all_left";
constexpr double kNoticeS = 10.0;  // how often rank 0 says whom it waits for

std::string arrival_key(std::int64_t number) {
  return fmt::format("world/arrival/{}", number);
}

Arrival introduce(const Identity& identity, const JoinOptions& options, std::string job_id) {
  Member self{identity.rank, 0, host_name(), host_id(), ::getpid(), affinity_cpus()};
  return {std::move(job_id), options.build_id, identity.size, std::move(self)};
}

void arrive(collectives::Store& store, const Arrival& arrival) {
  const std::int64_t number = store.add("world/arrivals", 1);
  if (number > arrival.size) {
    throw Error(ErrorCode::config,
                fmt::format("this is process {} to join a world of {}: is another job using the "
                            "same address and secret?",
                            number, arrival.size));
  }
  store.set(arrival_key(number), encode(arrival));
}

/// Waits for one arrival and says meanwhile who is missing.
std::string wait_for_arrival(collectives::Store& store, const std::string& key,
                             const Census& census, Deadline deadline) {
  while (true) {
    const Deadline notice = Deadline::after_seconds(kNoticeS);
    const bool is_last = deadline.when() <= notice.when();
    try {
      return store.get(key, is_last ? deadline : notice);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout || is_last) throw;
      log_info(fmt::format("world: waiting for ranks {}", census.missing()));
    }
  }
}

std::vector<Member> take_census(collectives::Store& store, const Arrival& self,
                                const JoinOptions& options, Deadline deadline) {
  Census census(self.job_id, self.build_id, self.size);
  for (int number = 1; number <= self.size; ++number) {
    std::string text;
    try {
      text = wait_for_arrival(store, arrival_key(number), census, deadline);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timeout) throw;
      throw Error(
          ErrorCode::timeout,
          fmt::format("{} of {} ranks joined within {} s; missing: {}; joined: {}", number - 1,
                      self.size, options.timeout_s, census.missing(), census.joined()));
    }
    census.admit(decode_arrival(text));
  }
  return census.members();
}

/// Rank 0: counts everyone and tells all, also when the answer is no.
std::vector<Member> publish_table(collectives::Store& store, const Arrival& self,
                                  const JoinOptions& options, Deadline deadline) {
  try {
    std::vector<Member> members = take_census(store, self, options, deadline);
    store.set(kTableKey, encode(members));
    return members;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::peer_lost) {
      store.set(kTableKey, encode(Refusal{error.code(), error.what()}));
    }
    throw;
  }
}

std::vector<Member> read_table(collectives::Store& store, const JoinOptions& options,
                               Deadline deadline) {
  std::string text;
  try {
    text = store.get(kTableKey, deadline);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    throw Error(ErrorCode::timeout,
                fmt::format("rank 0 had not seen all ranks within {} s", options.timeout_s));
  }
  if (const auto refusal = decode_refusal(text)) {
    throw Error(refusal->code, fmt::format("rank 0 let nobody join: {}", refusal->reason));
  }
  return decode_members(text);
}

World make_world(const Identity& identity, Entrance entrance, std::vector<Member> members) {
  World world;
  world.job_id = std::move(entrance.job_id);
  world.rank = identity.rank;
  world.size = identity.size;
  world.origin = identity.origin;
  world.members = std::move(members);
  world.store = std::move(entrance.store);
  world.secret = std::move(entrance.secret);
  world.is_store_in_rank_0 = entrance.is_store_in_rank_0;
  world.mpi = std::move(entrance.mpi);
  const Member& self = world.members.at(static_cast<std::size_t>(world.rank));
  world.local_rank = self.local_rank;
  world.local_size = static_cast<int>(std::ranges::count_if(
      world.members, [&](const Member& member) { return member.host_id == self.host_id; }));
  return world;
}

void leave_store(World& world, double timeout_s) {
  if (!world.is_store_in_rank_0 || world.size == 1) return;
  try {
    if (world.rank == 0) {
      world.store->get(kAllLeftKey, Deadline::after_seconds(timeout_s));
    } else if (world.store->add("world/left", 1) == world.size - 1) {
      world.store->set(kAllLeftKey, "");
    }
  } catch (const Error& error) {
    // The work is done, so a rank that is late or a store that is gone changes nothing about it;
    // rank 0 may end between our last word and its answer.
    if (error.code() != ErrorCode::peer_lost) log_warning(fmt::format("world: {}", error.what()));
  }
}

}  // namespace

World join_world(const Identity& identity, const JoinOptions& options) {
  const Deadline deadline = Deadline::after_seconds(options.timeout_s);
  const auto describe = [&] {
    return fmt::format("rank {} of {} joined its job (told by {})", identity.rank, identity.size,
                       identity.origin);
  };
  if (identity.rank == 0) {
    for (const std::string& remark : identity.remarks)
      log_warning(fmt::format("world: {}", remark));
  }
  return with_context(describe, [&] {
    Entrance entrance = enter(identity, options, deadline);
    const Arrival self = introduce(identity, options, entrance.job_id);
    arrive(*entrance.store, self);
    std::vector<Member> members = identity.rank == 0
                                      ? publish_table(*entrance.store, self, options, deadline)
                                      : read_table(*entrance.store, options, deadline);
    return make_world(identity, std::move(entrance), std::move(members));
  });
}

void leave_world(World& world, double timeout_s) {
  leave_store(world, timeout_s);
  if (world.mpi != nullptr) world.mpi->finish();
}

}  // namespace muster::runtime
