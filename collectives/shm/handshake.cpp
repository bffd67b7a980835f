#include "collectives/shm/handshake.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "collectives/net/fd.hpp"
#include "collectives/shm/layout.hpp"
#include "collectives/shm/unix_socket.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

using Token = std::array<std::byte, 32>;

// What a rank publishes: the name of its socket and what to say there.
struct Door {
  std::array<char, 48> name{};
  Token token{};
};

// What travels with a segment, in both directions.
struct Hello {
  std::uint64_t layout = 0;  // see layout_of
  std::uint64_t bytes = 0;
  std::int64_t rank = 0;
  Token token{};  // of the one who receives it
};

// Builds that lay out shared memory alike agree on this number.
std::uint64_t layout_of(int ranks) {
  return sizeof(ControlBlock) << 32 | heap_begin(ranks);
}

Token random_token() {
  Token token;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw Error(ErrorCode::io, fmt::format("getrandom: {}", errno_text(errno)));
  }
  return token;
}

std::string hex(const Token& token) {
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) text += fmt::format("{:02x}", static_cast<int>(token[i]));
  return text;
}

// Takes the same time whatever differs.
bool is_equal(const Token& a, const Token& b) {
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

std::string_view name_of(const Door& door) {
  return {door.name.data(), ::strnlen(door.name.data(), door.name.size())};
}

class Handshake {
 public:
  Handshake(const GroupSpec& group, Store& store, const Fd& file, std::size_t bytes,
            Deadline deadline)
      : group_(group),
        store_(store),
        file_(file),
        bytes_(bytes),
        deadline_(deadline),
        neighbours_(static_cast<std::size_t>(group.size)) {
    neighbours_[static_cast<std::size_t>(group.rank)] = {Fd(), bytes, ::getpid()};
  }

  std::vector<Neighbour> run() {
    open_door();
    // Connecting needs only that the other side listens, so all may connect before any accepts.
    std::vector<Fd> to_lower;
    to_lower.reserve(neighbours_.size());
    for (int rank = 0; rank < group_.rank; ++rank) to_lower.push_back(connect_and_greet(rank));
    for (int missing = group_.size - 1 - group_.rank; missing > 0;) {
      if (answer_one()) --missing;
    }
    for (int rank = 0; rank < group_.rank; ++rank) {
      take_answer(to_lower[static_cast<std::size_t>(rank)], rank);
    }
    return std::move(neighbours_);
  }

 private:
  std::string key(int rank) const { return fmt::format("comm/{}/{}/shm", group_.name, rank); }
  std::string describe(int rank) const {
    return fmt::format("rank {} of group {}", rank, group_.name);
  }

  std::string describe_missing() const {
    std::string ranks;
    for (int rank = group_.rank + 1; rank < group_.size; ++rank) {
      if (neighbours_[static_cast<std::size_t>(rank)].file.is_open()) continue;
      ranks += fmt::format("{}{}", ranks.empty() ? "rank " : ", ", rank);
    }
    return fmt::format("{} of group {}", ranks, group_.name);
  }

  void open_door() {
    door_.token = random_token();
    const std::string name = "muster-" + hex(random_token());
    std::copy(name.begin(), name.end(), door_.name.begin());
    listener_ = listen_at(name, std::max(group_.size, 8));
    store_.set(key(group_.rank), {reinterpret_cast<const char*>(&door_), sizeof(door_)});
  }

  Door door_of(int rank) {
    const std::string value = store_.get(key(rank), deadline_);
    Door door;
    if (value.size() != sizeof(door)) {
      throw Error(ErrorCode::io,
                  fmt::format("{} published {} bytes under {}, not {}", describe(rank),
                              value.size(), key(rank), sizeof(door)));
    }
    std::memcpy(&door, value.data(), sizeof(door));
    return door;
  }

  void send_hello(const Fd& socket, const Token& token, int to) {
    Hello hello;
    hello.layout = layout_of(group_.size);
    hello.bytes = bytes_;
    hello.rank = group_.rank;
    hello.token = token;
    send_with_file(socket, std::as_bytes(std::span(&hello, 1)), file_, describe(to));
  }

  Fd connect_and_greet(int rank) {
    const Door door = door_of(rank);
    Fd socket = connect_to(name_of(door), deadline_, describe(rank));
    if (!peer_of_same_user(socket)) throw_stranger(rank);
    send_hello(socket, door.token, rank);
    return socket;
  }

  // One connection: a rank above mine, or a stranger, who gets no answer.
  bool answer_one() {
    const std::string whom = describe_missing();
    const Fd socket = accept_one(listener_, deadline_, whom);
    const std::optional<pid_t> pid = peer_of_same_user(socket);
    if (!pid) return false;
    Hello hello;
    auto file =
        receive_with_file(socket, std::as_writable_bytes(std::span(&hello, 1)), deadline_, whom);
    if (!file || !is_equal(hello.token, door_.token)) return false;
    const bool is_expected = hello.rank > group_.rank && hello.rank < group_.size;
    if (!is_expected || neighbours_[static_cast<std::size_t>(hello.rank)].file.is_open())
      return false;
    const int rank = static_cast<int>(hello.rank);
    keep(rank, hello, std::move(*file), *pid);
    send_hello(socket, door_of(rank).token, rank);
    return true;
  }

  void take_answer(const Fd& socket, int rank) {
    Hello hello;
    auto file = receive_with_file(socket, std::as_writable_bytes(std::span(&hello, 1)), deadline_,
                                  describe(rank));
    if (!file) {
      throw Error(ErrorCode::peer_lost,
                  fmt::format("{} hung up while the group was made", describe(rank)));
    }
    if (!is_equal(hello.token, door_.token) || hello.rank != rank) throw_stranger(rank);
    keep(rank, hello, std::move(*file), peer_of_same_user(socket).value_or(0));
  }

  void keep(int rank, const Hello& hello, Fd file, pid_t pid) {
    if (hello.layout != layout_of(group_.size)) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} lays out shared memory differently: all ranks must run the same "
                              "build",
                              describe(rank)));
    }
    if (pid == 0) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} runs in another pid namespace (container), so its end could not "
                              "be noticed",
                              describe(rank)));
    }
    neighbours_[static_cast<std::size_t>(rank)] = {std::move(file), hello.bytes, pid};
  }

  [[noreturn]] void throw_stranger(int rank) const {
    throw Error(
        ErrorCode::peer_lost,
        fmt::format("what answers in the place of {} does not belong to this job", describe(rank)));
  }

  const GroupSpec& group_;
  Store& store_;
  const Fd& file_;
  std::size_t bytes_;
  Deadline deadline_;
  std::vector<Neighbour> neighbours_;
  Door door_;
  Fd listener_;
};

}  // namespace

std::vector<Neighbour> exchange_segments(const GroupSpec& group, Store& store, const Fd& file,
                                         std::size_t bytes, Deadline deadline) {
  return Handshake(group, store, file, bytes, deadline).run();
}

}  // namespace muster::collectives::shm
