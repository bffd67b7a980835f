# muster_library(NAME SOURCES files... DEPENDS targets... LINKS external targets...)
function(muster_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  foreach(dependency IN LISTS arg_DEPENDS)
    if(NOT TARGET ${dependency})
      message(FATAL_ERROR "${name} depends on ${dependency}, which is not below it")
    endif()
  endforeach()
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_LINKS})
  muster_compile_options(${name})
endfunction()

# muster_executable(NAME SOURCES files... DEPENDS targets... LINKS external targets...)
function(muster_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ${arg_LINKS})
  muster_compile_options(${name})
endfunction()

# muster_test(NAME SOURCES files... DEPENDS targets... LINKS external targets...)
# Every test of the target becomes a ctest of its own, labelled with the target's name and "unit".
function(muster_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  muster_executable(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS}
                    LINKS ${arg_LINKS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120 LABELS "unit;${name}")
endfunction()

function(muster_compile_options name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                                         -Wno-missing-field-initializers)  # defaults are meant
  target_compile_definitions(${name} PRIVATE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
  if(MUSTER_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer
                                           -fno-sanitize-recover=undefined)
    target_link_options(${name} PUBLIC -fsanitize=${MUSTER_SANITIZE})
  endif()
endfunction()
