#pragma once

namespace muster::collectives {

/// "0.1.0-1f2e3d4c5b6a": version, and a hash of sources, compiler and options. Programs and
/// plug-ins may only work together when theirs are equal. Linked into programs and plug-ins, never
/// into a library, since it changes with every source.
const char* build_id() noexcept;

}  // namespace muster::collectives
