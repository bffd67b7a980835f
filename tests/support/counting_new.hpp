#pragma once

namespace muster::test {

/// Calls of operator new since the program began, on any thread, by any library. A program that is
/// linked with counting_new.cpp allocates through its operators.
long allocation_count() noexcept;

}  // namespace muster::test
