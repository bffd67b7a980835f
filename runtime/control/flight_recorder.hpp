#pragma once

namespace muster::runtime {

/// Opens this process's flight recorder, on the memory file whose number stands in MUSTER_TRACE_FD
/// (our launcher's: it reads there, also when this process is stopped or dead), which is then unset
/// and the file closed, or without the variable on a record of its own; and answers requests for
/// its stack. Error(config) when the variable names no record. To be called before the process has
/// other threads.
void open_flight_recorder();

}  // namespace muster::runtime
