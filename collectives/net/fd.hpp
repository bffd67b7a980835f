#pragma once

#include <utility>

namespace muster::collectives {

/// An open file descriptor that closes itself. Move-only; -1 means none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) noexcept : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  int release() noexcept { return std::exchange(number_, -1); }
  void reset(int number = -1) noexcept;

 private:
  int number_ = -1;
};

/// Marks a descriptor so that programs started from here do not inherit it.
void close_on_exec(int number);

/// Text of an errno value: "Connection refused".
const char* errno_text(int error) noexcept;

}  // namespace muster::collectives
