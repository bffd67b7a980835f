#include "runtime/world/agree.hpp"

#include "kernels/base/error.hpp"
#include "runtime/world/census.hpp"

namespace muster::runtime {
namespace {

constexpr char kAnswer = '=';  // stands before an answer, which may look like a refusal otherwise

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
        world.store->set(key, encode(Refusal{error.code(), error.what()}));
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
