#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::runtime {

/// `text` in double quotes, fit for a message: control characters and quotes escaped, cut after 80
/// bytes. For every name or value that comes from outside.
std::string quote(std::string_view text);

/// The least number of insertions, deletions, substitutions and swaps of neighbours that turns `a`
/// into `b` (optimal string alignment). Time |a| |b|, memory 3 |b|.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The member of `known` that `name` was probably meant to be; empty when none is near: more than
/// a third of the name's letters (at least two) would have to change.
std::string nearest(std::string_view name, std::span<const std::string> known);

}  // namespace muster::runtime
