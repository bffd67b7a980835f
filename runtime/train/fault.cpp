#include "runtime/train/fault.hpp"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::config, fmt::format("MUSTER_FAULT=\"{}\": {} (example: "
                                             "nan:rank=1,step=3,tensor=model.norm.weight)",
                                             text, why));
}

template <typename Number>
Number parse_number(std::string_view all, std::string_view value) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < 0) {
    refuse(all, fmt::format("\"{}\" is no number", value));
  }
  return number;
}

void set_part(Fault& fault, std::string_view all, std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) refuse(all, fmt::format("\"{}\" has no value", part));
  const std::string_view key = part.substr(0, equals);
  const std::string_view value = part.substr(equals + 1);
  if (key == "rank") {
    fault.rank = parse_number<int>(all, value);
  } else if (key == "step") {
    fault.step = parse_number<std::int64_t>(all, value);
  } else if (key == "tensor") {
    fault.tensor = value;
  } else {
    refuse(all, fmt::format("unknown key \"{}\"", key));
  }
}

}  // namespace

Fault parse_fault(const std::string& text) {
  Fault fault;
  if (text.empty()) return fault;
  std::string_view rest = text;
  if (!rest.starts_with("nan:")) refuse(text, "the only kind is \"nan:\"");
  rest.remove_prefix(4);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    set_part(fault, text, rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  if (fault.step == 0 || fault.tensor.empty()) refuse(text, "step and tensor are needed");
  fault.is_planned = true;
  return fault;
}

}  // namespace muster::runtime
