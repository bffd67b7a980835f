#include "runtime/train/show.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

/// Per root value, the number of the last op that reads it.
std::vector<std::size_t> last_readers(const List& list) {
  std::vector<std::size_t> last(list.values.size(), 0);
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    for (const ValueId id : list.ops[i].inputs) {
      if (id != kNone) last[static_cast<std::size_t>(list.root(id))] = i;
    }
  }
  return last;
}

/// Prints one list.
class Printer {
 public:
  Printer(const List& list, const ArenaPlan& plan, const Profile& profile, std::size_t backward)
      : list_(list),
        plan_(plan),
        profile_(profile),
        backward_(backward),
        last_(last_readers(list)) {}

  std::string line(std::size_t i) const {
    const Op& op = list_.ops[i];
    std::string text = fmt::format("{:>5}  {:<22}", i, op.kind->name());
    for (const ValueId id : op.inputs) text += operand(id, i);
    text += " ->";
    for (const ValueId id : op.outputs) text += operand(id, i);
    const Cost cost = op.kind->cost(list_, op);
    text += fmt::format("   {:.2f} MB", cost.bytes / 1e6);
    if (cost.flops > 0.0) text += fmt::format(", {:.1f} MFLOP", cost.flops / 1e6);
    const double seconds = price(list_, op, profile_);
    if (seconds > 0.0) text += fmt::format(", {:.1f} us", seconds * 1e6);
    return text + '\n';
  }

 private:
  std::string operand(ValueId id, std::size_t op) const {
    if (id == kNone) return " -";
    const Value& value = list_.value(id);
    std::string text =
        fmt::format(" {}:{}[{},{}]", value.name, to_string(value.dtype), value.rows, value.cols);
    const auto root = static_cast<std::size_t>(list_.root(id));
    if (plan_.offsets.size() > root && plan_.offsets[root] >= 0) {
      text += fmt::format("@{}", plan_.offsets[root]);
    }
    const bool is_saved = op < backward_ &&
                          list_.value(list_.root(id)).origin == Origin::computed &&
                          last_[root] >= backward_;
    return is_saved ? text + "*" : text;
  }

  const List& list_;
  const ArenaPlan& plan_;
  const Profile& profile_;
  std::size_t backward_;
  std::vector<std::size_t> last_;
};

/// The first op of the second half: where the blocks are gone through backwards.
std::size_t backward_begin(const Program& program) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < program.sources.size(); ++i) {
    if (program.sources[i].segment == "head") {
      begin = i;
      break;
    }
  }
  return begin;
}

}  // namespace

std::string show_program(const Program& program, const Profile& profile) {
  const Printer printer(program.first, program.arena, profile, backward_begin(program));
  std::string text = fmt::format("micro-batch, arena {} B (at least {} B alive at once)\n",
                                 program.arena.bytes, program.arena.lower_bound);
  for (std::size_t i = 0; i < program.first.ops.size(); ++i) {
    const OpSource& source = program.sources[i];
    if (source.layer > 0) continue;
    const bool begins = i == 0 || program.sources[i - 1].segment != source.segment ||
                        program.sources[i - 1].layer != source.layer;
    if (begins) text += fmt::format("{}\n", source.segment);
    text += printer.line(i);
  }
  const ArenaPlan none;
  const Printer update(program.update, none, profile, 0);
  text += "update\n";
  for (std::size_t i = 0; i < program.update.ops.size(); ++i) text += update.line(i);
  return text;
}

}  // namespace muster::runtime
