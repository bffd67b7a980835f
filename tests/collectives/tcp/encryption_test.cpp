// Encrypted connections, and somebody between the ranks who reads and changes what they send.

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/backends.hpp"
#include "collectives/tcp/seal.hpp"
#include "kernels/devices.hpp"
#include "tests/collectives/tcp/eavesdropper.hpp"
#include "tests/collectives/tcp/tcp_ranks.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::tcp {
namespace {

using Errors = std::array<std::string, 2>;

constexpr std::string_view kPhrase = "attention is all you need; so is a secret";
constexpr int kMessages = 3;

using Words = std::optional<std::string>;

std::string phrases() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += kPhrase;
  return text;
}

/// Rank 0 sends rank 1 some messages by way of the store's eavesdropper, and hears that they came:
/// the errors of both, empty where there was none.
Errors talk(BuggedStore& store, bool encrypts) {
  Errors errors;
  std::vector<std::jthread> ranks;
  ranks.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        TcpFabric fabric(spec_of(rank, 2), store, {.encrypts = encrypts}, soon());
        const auto lane = fabric.open_lane(0);
        begin(*lane, call_of(1));
        for (int i = 0; i < kMessages; ++i) {
          std::string text = phrases();
          std::string answer(1, '\0');
          if (rank == 1) text.assign(text.size(), '\0');
          lane->wait(rank == 0 ? lane->send(1, bytes_of(text)) : lane->receive(0, room_in(text)));
          lane->wait(rank == 0 ? lane->receive(1, room_in(answer))
                               : lane->send(0, bytes_of(answer)));
          EXPECT_TRUE(text == phrases());
        }
      } catch (const Error& error) {
        errors.at(static_cast<std::size_t>(rank)) = error.what();
      }
    });
  }
  ranks.clear();
  return errors;
}

Words leave_as_it_is(std::string bytes, std::size_t /*offset*/) {
  return bytes;
}

TEST(TcpEncryption, HidesWhatIsSent) {
  for (const bool encrypts : {false, true}) {
    MemoryStore inner;
    BuggedStore store(inner, leave_as_it_is);

    const Errors errors = talk(store, encrypts);

    EXPECT_EQ(errors, Errors());
    const std::string heard = store.heard();
    EXPECT_GT(heard.size(), kMessages * phrases().size());
    EXPECT_EQ(heard.find(kPhrase) == std::string::npos, encrypts);
  }
}

/// What rank 1 says of a talk in which the eavesdropper changed something. Both ranks end.
std::string error_after(const Eavesdropper::Tamper& tamper) {
  MemoryStore inner;
  BuggedStore store(inner, tamper);
  const Errors errors = talk(store, true);
  EXPECT_NE(errors[0], "");
  EXPECT_NE(errors[1].find("rank 0 (pid "), std::string::npos) << errors[1];
  return errors[1];
}

TEST(TcpEncryption, IsWhatTheGroupAsksFor) {
  for (const bool encrypts : {false, true}) {
    MemoryStore inner;
    BuggedStore store(inner, leave_as_it_is);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        GroupSpec spec = spec_of(rank, 2);
        spec.encrypts = encrypts;
        const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
        const auto group = create_communicator("tcp", spec, store, *device, soon());
        std::string text = phrases();
        group
            ->broadcast(
                {room_in(text).data(), Dtype::u8, 1, static_cast<std::int64_t>(text.size())}, 0)
            .wait();
      });
    }
    ranks.clear();

    EXPECT_EQ(store.heard().find(kPhrase) == std::string::npos, encrypts);
  }
}

TEST(TcpEncryption, FindsAFlippedBit) {
  const std::string error = error_after([](std::string bytes, std::size_t offset) -> Words {
    constexpr std::size_t kAt = 5000;
    if (offset <= kAt && kAt < offset + bytes.size()) bytes[kAt - offset] ^= 1;
    return bytes;
  });

  EXPECT_NE(error.find("rank 1 (pid "), std::string::npos) << error;
  EXPECT_NE(error.find("record 0 of the encrypted data connection"), std::string::npos) << error;
}

// The first message again in the place of the second.
TEST(TcpEncryption, FindsAReplay) {
  const std::size_t record = kFrameBytes + phrases().size() + kSealBytes;
  std::string first;
  const std::string error = error_after([&](std::string bytes, std::size_t offset) -> Words {
    if (offset < record) {
      first += bytes;
      return bytes;
    }
    return offset == record ? first : std::string();
  });

  EXPECT_NE(error.find("record 1 of the encrypted data connection"), std::string::npos) << error;
}

TEST(TcpEncryption, GivesOutNothingOfARecordThatIsCutOff) {
  const std::string error = error_after([](const std::string& bytes, std::size_t offset) -> Words {
    constexpr std::size_t kAt = 5000;
    if (offset >= kAt) return std::nullopt;
    return bytes.substr(0, kAt - offset);
  });

  // Rank 0 may have found out first, and left.
  EXPECT_NE(error.find("peer lost: rank 0 (pid "), std::string::npos) << error;
}

TEST(TcpEncryption, RefusesRanksThatDoNotAllEncrypt) {
  MemoryStore store;
  std::array<std::string, 3> errors;
  std::vector<std::jthread> ranks;
  ranks.reserve(errors.size());
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      errors.at(static_cast<std::size_t>(rank)) = error_text(ErrorCode::config, [&] {
        const TcpFabric fabric(spec_of(rank, 3), store, {.encrypts = rank == 1}, soon());
      });
    });
  }
  ranks.clear();

  for (const std::string& error : errors) {
    EXPECT_NE(error.find("rank 1 (pid "), std::string::npos) << error;
    EXPECT_NE(error.find("encrypts its tcp connections (MUSTER_TCP_ENCRYPT=1), rank "),
              std::string::npos)
        << error;
  }
}

TEST(TcpEncryption, CarriesTheReasonOfAnAbort) {
  std::array<std::string, 2> errors;
  run_ranks(2, {.encrypts = true}, [&](TcpFabric& fabric) {
    const auto lane = fabric.open_lane(0);
    std::string text(10, '\0');
    if (fabric.rank() == 1) return fabric.abort("the data ran out");
    errors[0] = error_text(ErrorCode::peer_lost, [&] {
      begin(*lane, call_of(1));
      lane->wait(lane->receive(1, room_in(text)));
    });
  });

  EXPECT_NE(errors[0].find("aborted the group: the data ran out"), std::string::npos) << errors[0];
}

}  // namespace
}  // namespace muster::collectives::tcp
