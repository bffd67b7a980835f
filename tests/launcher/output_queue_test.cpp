#include "launcher/output_queue.hpp"

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace muster::launcher {
namespace {

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }
  int write_end() const { return write_.number(); }
  void close_read_end() { read_.reset(); }
  void close_write_end() { write_.reset(); }
  std::string read_some() const {
    std::array<char, 65536> buffer;
    const ssize_t bytes = ::read(read_.number(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(bytes > 0 ? bytes : 0)};
  }
  std::string read_all() const {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    return all;
  }

 private:
  collectives::Fd read_;
  collectives::Fd write_;
};

bool is_readable(int number, int wait_ms) {
  pollfd entry = {number, POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

TEST(OutputQueue, WritesEverythingInOrderBeforeItEnds) {
  Pipe pipe;
  {
    OutputQueue queue;
    for (int i = 0; i < 100; ++i) queue.put(pipe.write_end(), std::to_string(i) + " ");
  }
  pipe.close_write_end();

  std::string expected;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i) + " ";
  EXPECT_EQ(pipe.read_all(), expected);
}

TEST(OutputQueue, NeverWaitsForAReaderAndSaysWhenThereIsRoom) {
  Pipe pipe;
  auto queue = std::make_unique<OutputQueue>();

  for (int i = 0; i < 40; ++i) queue->put(pipe.write_end(), std::string(65536, 'x'));

  EXPECT_TRUE(queue->is_full());
  EXPECT_FALSE(is_readable(queue->room_signal(), 0));
  std::size_t bytes = 0;
  while (!is_readable(queue->room_signal(), 0)) bytes += pipe.read_some().size();
  EXPECT_FALSE(queue->is_full());
  queue->clear_room_signal();
  EXPECT_FALSE(is_readable(queue->room_signal(), 0));

  std::jthread end([&] {
    queue.reset();
    pipe.close_write_end();
  });
  bytes += pipe.read_all().size();
  EXPECT_EQ(bytes, 40U * 65536U);
}

TEST(OutputQueue, DropsWhatNobodyReads) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe closed;
  Pipe open;
  closed.close_read_end();
  {
    OutputQueue queue;
    for (int i = 0; i < 3; ++i) queue.put(closed.write_end(), "lost");
    queue.put(open.write_end(), "kept");
  }
  open.close_write_end();

  EXPECT_EQ(open.read_all(), "kept");
}

}  // namespace
}  // namespace muster::launcher
