#include "collectives/shm/private_memory.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::collectives::shm {
namespace {

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

/// A process that holds what `data` was when it was made, and waits to be killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(PrivateMemory, OfAnotherProcessIsReadAndWritten) {
  std::vector<std::byte> data(3 << 20);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i * 7 % 251);
  const std::vector<std::byte> original = data;
  const Child child;
  data.assign(data.size(), std::byte{0});  // the child keeps its own
  std::vector<std::byte> seen(data.size());

  ASSERT_EQ(read_private(child.pid(), address_of(data.data()), seen.data(), seen.size()), 0);
  EXPECT_EQ(seen, original);

  const std::array<std::byte, 3> mark = {std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_EQ(write_private(child.pid(), address_of(data.data() + 5), mark.data(), mark.size()), 0);
  ASSERT_EQ(read_private(child.pid(), address_of(data.data()), seen.data(), seen.size()), 0);
  EXPECT_EQ(std::memcmp(seen.data() + 5, mark.data(), mark.size()), 0);
  EXPECT_EQ(seen[4], original[4]);
  EXPECT_EQ(seen[8], original[8]);
}

TEST(PrivateMemory, ThatIsNotThereIsAnError) {
  constexpr std::size_t kPage = 4096;
  auto* const at = static_cast<std::byte*>(
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::mprotect(at + kPage, kPage, PROT_NONE), 0);
  std::vector<std::byte> seen(2 * kPage);

  EXPECT_EQ(read_private(::getpid(), address_of(at), seen.data(), kPage), 0);
  EXPECT_EQ(read_private(::getpid(), address_of(at), seen.data(), kPage + 1), EFAULT);

  ::munmap(at, 2 * kPage);
}

TEST(PrivateMemory, OfAProcessThatHasEndedIsAnError) {
  std::byte byte{};
  Child child;
  const pid_t pid = child.pid();
  child.end();

  EXPECT_EQ(read_private(pid, address_of(&byte), &byte, 1), ESRCH);
}

}  // namespace
}  // namespace muster::collectives::shm
