#include "runtime/probe/utc_time.hpp"

#include <chrono>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

struct Texts {
  std::string date;
  std::string clock;
};

Texts texts_of(std::int64_t seconds) {
  const std::chrono::sys_seconds at{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  return {fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())),
          fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(),
                      clock.seconds().count())};
}

}  // namespace

std::int64_t seconds_of_utc(const UtcTime& time) {
  const std::chrono::sys_days day =
      std::chrono::year(time.year) / static_cast<int>(time.month) / static_cast<int>(time.day);
  const auto at = day + std::chrono::hours(time.hour) + std::chrono::minutes(time.minute) +
                  std::chrono::seconds(time.second);
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

std::string utc_stamp(std::int64_t seconds) {
  const Texts texts = texts_of(seconds);
  return fmt::format("{}T{}Z", texts.date, texts.clock);
}

std::string utc_text(std::int64_t seconds) {
  const Texts texts = texts_of(seconds);
  return fmt::format("{} {} UTC", texts.date, texts.clock);
}

}  // namespace muster::runtime
