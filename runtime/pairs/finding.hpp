#pragma once

#include <string>

namespace muster::runtime {

enum class FindingKind { slow_host, slow_link, slow_uplink };

/// Something that is slower than its like.
struct Finding {
  FindingKind kind = FindingKind::slow_host;
  std::string quantity;  // "bandwidth", "latency"
  int a = 0;             // a host; of an uplink: any host of one rack
  int b = 0;             // the other end of a link or uplink
  double factor = 1.0;   // how many times slower than the level's reference
  double value = 0.0;    // bytes/s or seconds, as measured
};

}  // namespace muster::runtime
