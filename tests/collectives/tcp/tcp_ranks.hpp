#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/tcp/tcp_fabric.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::collectives::tcp {

inline Deadline soon() {
  return Deadline::after_seconds(60.0);
}

/// The group that the tests of this folder use, as one of its ranks sees it.
inline GroupSpec spec_of(int rank, int ranks) {
  // The same in ranks that are processes of their own.
  const Secret secret = Secret::from_hex(std::string(64, 'a'), "the tests' secret");
  GroupSpec group;
  group.name = "test";
  group.rank = rank;
  group.size = ranks;
  group.hosts.assign(static_cast<std::size_t>(ranks), "here");
  group.cores_per_rank = 0;
  group.secret = secret;
  return group;
}

/// A call of `count` elements, of which only the signature matters to a transport.
inline Signature call_of(std::int64_t count, std::uint64_t sequence = 1) {
  Call call;
  call.kind = CallKind::all_reduce;
  call.count = count;
  call.sequence = sequence;
  return Signature(call);
}

/// Begins a call that has `timeout_s` seconds.
inline void begin(Transport& lane, const Signature& signature, double timeout_s = 60.0) {
  lane.begin(signature, {.timeout_s = timeout_s}, Deadline::after_seconds(timeout_s));
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::span<std::byte> room_in(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

/// What rank `from` sends as its message `number`: other bytes for every message.
inline std::string message(std::size_t bytes, int from, int number) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t value = (i * 7 + i / 251 + static_cast<std::size_t>(from) * 101 +
                               static_cast<std::size_t>(number) * 13);
    text[i] = static_cast<char>(value & 0xFFU);
  }
  return text;
}

/// Ranks as threads, each with its own fabric. An exception that leaves `body` is a failure.
inline void run_ranks(int ranks, const TcpOptions& options,
                      const std::function<void(TcpFabric&)>& body) {
  MemoryStore store;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        TcpFabric fabric(spec_of(rank, ranks), store, options, soon());
        body(fabric);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

/// The same with lane 0 opened.
inline void run_lanes(int ranks, const TcpOptions& options,
                      const std::function<void(Transport&)>& body) {
  run_ranks(ranks, options, [&](TcpFabric& fabric) {
    const auto lane = fabric.open_lane(0);
    body(*lane);
  });
}

}  // namespace muster::collectives::tcp
