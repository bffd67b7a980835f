#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives {

/// A back end that only counts calls: rank 1 of its group.
class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(int size) : Communicator("counted", 1, size) {}

  std::string_view backend() const noexcept override { return "counting"; }
  MemorySource& memory() noexcept override { return *memory_; }
  void abort(std::string_view /*reason*/) noexcept override {}
  void heartbeat() noexcept override {}

  std::vector<Call> calls;

 private:
  Pending do_call(const Call& call) override {
    calls.push_back(call);
    return {};
  }

  MemorySource* memory_ = nullptr;
};

class CommunicatorChecks : public testing::Test {
 protected:
  TensorView data(std::int64_t begin, std::int64_t count) {
    return vector_view(numbers_.data() + begin, count);
  }
  std::string refusal(const std::function<void()>& call) {
    std::string text = error_text(ErrorCode::invalid_argument, call);
    EXPECT_TRUE(group_.calls.empty());
    return text;
  }

  std::vector<float> numbers_ = std::vector<float>(64);
  CountingCommunicator group_{4};
};

}  // namespace muster::collectives
