#pragma once

#include <cstdint>
#include <string>

#include "collectives/trace/reader.hpp"

/// Records as texts for people.
namespace muster::collectives::trace {

/// "all_reduce f32[64] sum "gradients" (group world, lane 0, seq 12)"; a send_receive names its
/// partners instead of a number.
std::string describe(const CallView& call);

/// The same with how it went at the moment `now_ns`: "… ended 31 s ago", "… has run for 3.1 s".
std::string describe(const EntryView& entry, std::int64_t now_ns);

/// "step 17", "data of step 17", "setup".
std::string describe_phase(const NowView& now);

/// "31 s", "3.1 s", "12 ms": as long as a person needs it. Negative ones count as zero.
std::string duration_text(std::int64_t ns);

}  // namespace muster::collectives::trace
