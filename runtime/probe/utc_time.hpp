#pragma once

#include <cstdint>
#include <string>

namespace muster::runtime {

/// A second of the calendar, UTC.
struct UtcTime {
  int year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Seconds since 1970, without leap seconds.
std::int64_t seconds_of_utc(const UtcTime& time);
/// "2026-12-01T11:15:42Z"
std::string utc_stamp(std::int64_t seconds);
/// "2026-12-01 11:15:42 UTC"
std::string utc_text(std::int64_t seconds);

}  // namespace muster::runtime
