#include "collectives/shm/segments.hpp"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/collectives/rank_processes.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::shm {
namespace {

using testing::HasSubstr;

TEST(Segments, LieOneAfterTheOther) {
  const Segments segments = Segments::reserve(3, 256 * kMiB);

  EXPECT_EQ(segments.bytes(), 256 * kMiB);
  EXPECT_EQ(segments.base(2) - segments.base(1), static_cast<std::ptrdiff_t>(256 * kMiB));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segments.base(0)) % kHugePage, 0U);
}

TEST(Segments, ShowAllMappingsOfAFileTheSameBytes) {
  Segments segments = Segments::reserve(2, 128 * kMiB);
  const Fd file = create_segment_file(segments.bytes());
  segments.map(0, file);
  segments.map(1, file);

  segments.base(0)[heap_begin(2)] = std::byte{42};

  EXPECT_EQ(segments.base(1)[heap_begin(2)], std::byte{42});
}

TEST(Segments, RefuseAFileThatIsTooShort) {
  Segments segments = Segments::reserve(2, 128 * kMiB);
  const Fd file = create_segment_file(kMiB);

  EXPECT_THAT(error_text(ErrorCode::peer_lost, [&] { segments.map(1, file); }),
              HasSubstr("the segment of rank 1 has 1048576 bytes"));
}

// Address space that this process has in use; a sanitizer takes terabytes.
std::size_t address_space_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::getpagesize());
}

// In a process of its own, since a limit once lowered stays.
std::string reserve_with_room_for(std::size_t more) {
  RankProcesses process(1, [more](int) {
    const std::size_t limit = address_space_in_use() + more;
    const rlimit bound{limit, limit};
    ::setrlimit(RLIMIT_AS, &bound);
    return std::to_string(Segments::reserve(4, std::size_t{1} << 40).bytes());
  });
  return process.last_words(0);
}

TEST(Segments, AreSmallerWhereAddressSpaceIsLimited) {
  EXPECT_EQ(reserve_with_room_for(std::size_t{5} << 30), std::to_string(std::size_t{1} << 30));
}

TEST(Segments, SayWhatToDoWhereThereIsNoAddressSpace) {
  EXPECT_THAT(reserve_with_room_for(std::size_t{200} << 20), HasSubstr("ulimit -v"));
}

TEST(Segments, TheLargestGroupHasRoomForItsRingsAndAHeap) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer keeps most of the address space for itself";
#endif
  EXPECT_GT(Segments::reserve(1024, std::size_t{1} << 40).bytes(), heap_begin(1024));
}

}  // namespace
}  // namespace muster::collectives::shm
