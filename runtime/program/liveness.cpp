#include "runtime/program/liveness.hpp"

#include <algorithm>
#include <cstddef>

namespace muster::runtime {
namespace {

constexpr std::int64_t kAlignment = 256;

struct Life {
  ValueId value;
  std::int64_t bytes;
  std::int64_t first;  // op numbers, inclusive
  std::int64_t last;
};

std::vector<Life> lives_of(const List& list) {
  std::vector<Life> lives(list.values.size(), {kNone, 0, 0, 0});
  const auto touch = [&](ValueId id, std::int64_t op) {
    if (id == kNone) return;
    const ValueId root = list.root(id);
    const Value& value = list.value(root);
    if (value.origin != Origin::computed) return;
    Life& life = lives[static_cast<std::size_t>(root)];
    if (life.value == kNone) {
      const std::int64_t bytes = (value.bytes() + kAlignment - 1) / kAlignment * kAlignment;
      life = {root, bytes, op, op};
    }
    life.last = op;
  };
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    for (const ValueId id : list.ops[i].inputs) touch(id, static_cast<std::int64_t>(i));
    for (const ValueId id : list.ops[i].outputs) touch(id, static_cast<std::int64_t>(i));
  }
  std::erase_if(lives, [](const Life& life) { return life.value == kNone; });
  return lives;
}

std::int64_t most_alive(const std::vector<Life>& lives, std::size_t ops) {
  std::vector<std::int64_t> change(ops + 1, 0);
  for (const Life& life : lives) {
    change[static_cast<std::size_t>(life.first)] += life.bytes;
    change[static_cast<std::size_t>(life.last) + 1] -= life.bytes;
  }
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const std::int64_t delta : change) {
    alive += delta;
    most = std::max(most, alive);
  }
  return most;
}

struct Placed {
  Life life;
  std::int64_t begin;
};

/// The lowest place for `life` between the values that are alive at the same time. `placed` is
/// ordered by begin.
std::int64_t lowest_gap(const std::vector<Placed>& placed, const Life& life) {
  std::int64_t begin = 0;
  for (const Placed& other : placed) {
    const bool overlaps = other.life.first <= life.last && life.first <= other.life.last;
    if (!overlaps) continue;
    if (other.begin >= begin + life.bytes) break;
    begin = std::max(begin, other.begin + other.life.bytes);
  }
  return begin;
}

}  // namespace

ArenaPlan plan_arena(const List& list) {
  std::vector<Life> lives = lives_of(list);
  ArenaPlan plan;
  plan.offsets.assign(list.values.size(), -1);
  plan.lower_bound = most_alive(lives, list.ops.size());
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });

  std::vector<Placed> placed;
  for (const Life& life : lives) {
    const std::int64_t begin = lowest_gap(placed, life);
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), begin,
        [](std::int64_t place, const Placed& other) { return place < other.begin; });
    placed.insert(after, {life, begin});
    plan.offsets[static_cast<std::size_t>(life.value)] = begin;
    plan.bytes = std::max(plan.bytes, begin + life.bytes);
  }
  return plan;
}

}  // namespace muster::runtime
