#include "kernels/base/log.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace muster {
namespace {

std::shared_ptr<spdlog::logger> make_logger(std::string_view name) {
  auto logger =
      std::make_shared<spdlog::logger>("muster", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(name.empty() ? "%H:%M:%S.%e %l %v"
                                   : fmt::format("%H:%M:%S.%e %l [{}] %v", name));
  return logger;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = make_logger("");
  return instance;
}

}  // namespace

void start_log(std::string_view name, LogLevel least) {
  logger() = make_logger(name);
  logger()->set_level(spdlog_level(least));
}

void log_debug(std::string_view text) {
  logger()->debug("{}", text);
}
void log_info(std::string_view text) {
  logger()->info("{}", text);
}
void log_warning(std::string_view text) {
  logger()->warn("{}", text);
}
void log_error(std::string_view text) {
  logger()->error("{}", text);
}

}  // namespace muster
