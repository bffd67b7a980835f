#pragma once

#include <optional>

#include "collectives/backends.hpp"
#include "collectives/bootstrap/store.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// Deals the ranks of a group out to new ones: ranks of equal `color` form a group, in the order of
/// `key`, and of their rank in the parent where keys are equal. A rank with a negative color is in
/// none of them and gets nothing.
///
/// Collective over the parent by way of the store: every rank of it makes the same splits in the
/// same order, from one thread at a time; its communicator need not exist. All but name, rank, size
/// and hosts is the parent's. The name tells of the parent, the number of the split and the color
/// ("world.split0.1"), so groups may live side by side and end in any order.
///
/// Errors: timeout names the first rank that has not come.
std::optional<GroupSpec> split_group(const GroupSpec& parent, Store& store, int color, int key,
                                     Deadline deadline);

}  // namespace muster::collectives
