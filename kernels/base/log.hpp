#pragma once

#include <string_view>

namespace muster {

enum class LogLevel { debug, info, warning, error };

/// Sends this process's log lines to standard error as `TIME LEVEL [NAME] TEXT`; `name` is what the
/// lines start with ("rank 3", "launcher"). Call once at start; before it, lines of level info and
/// above are written without a name. Any thread may log at any time.
void start_log(std::string_view name, LogLevel least);

/// One line per event: what happened, then key=value pairs.
void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

}  // namespace muster
