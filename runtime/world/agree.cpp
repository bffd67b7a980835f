#include "runtime/world/agree.hpp"

#include "kernels/base/error.hpp"
#include "runtime/world/census.hpp"

namespace muster::runtime {
namespace {

constexpr char kAnswer = '=';  // stands before an answer, which may look like a refusal otherwise

// Without the code, which the error that is made of it has in front again.
std::string reason_of(const Error& error) {
  std::string text = error.what();
  const std::string_view code = to_string(error.code());
  if (text.starts_with(code)) text.erase(0, text.find_first_not_of(": ", code.size()));
  return text;
}

}  // namespace

std::string agree(World& world, std::string_view key, double timeout_s,
                  const std::function<std::string()>& decide) {
  if (world.rank == 0) {
    try {
      std::string answer = decide();
      world.store->set(key, kAnswer + answer);
      return answer;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::peer_lost) {
        world.store->set(key, encode(Refusal{error.code(), reason_of(error)}));
      }
      throw;
    }
  }
  const std::string text = world.store->get(key, Deadline::after_seconds(timeout_s));
  if (!text.empty() && text.front() == kAnswer) return text.substr(1);
  const auto refusal = decode_refusal(text);
  if (refusal) throw Error(refusal->code, refusal->reason);
  throw Error(ErrorCode::io, "rank 0 published neither an answer nor why it has none");
}

}  // namespace muster::runtime
