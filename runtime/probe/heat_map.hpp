#pragma once

#include <string>

#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// A page that shows a cluster without any other file or network: when it was measured, levels,
/// findings, and a heat map of bandwidth from row to column, darker is slower, with hosts of a rack
/// in one frame and the values on hover; hosts of up to 32 also have their values written in the
/// cells, so that a print says as much. Names are escaped.
std::string cluster_html(const Cluster& cluster);

}  // namespace muster::runtime
