# cmake -DOUTPUT=FILE -DSOURCES=FILE -DPREFIX=TEXT -P build_id.cmake
# Writes build_id.cpp: PREFIX and a hash of the files listed in SOURCES, one a line.
file(STRINGS ${SOURCES} files)
set(hashes "${PREFIX}")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND hashes "${hash}")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 hash)
string(REGEX MATCH "^[^ ]+" version "${PREFIX}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "collectives/bootstrap/build_id.hpp"

namespace muster::collectives {

const char* build_id() noexcept {
  return "@version@-@hash@";
}

}  // namespace muster::collectives
]])
