# muster_library(NAME SOURCES files... DEPENDS targets... LINKS external targets... APART files...)
# APART: sources that share no batch with others (MUSTER_UNITY): their private names, or their
# coroutines, which GCC takes only in the file it was called for, do not bear neighbours.
function(muster_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS;APART" ${ARGN})
  foreach(dependency IN LISTS arg_DEPENDS)
    if(NOT TARGET ${dependency})
      message(FATAL_ERROR "${name} depends on ${dependency}, which is not below it")
    endif()
  endforeach()
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_LINKS})
  muster_batches(${name} ${arg_APART})
  muster_compile_options(${name})
endfunction()

# muster_executable(NAME SOURCES files... DEPENDS targets... LINKS external targets... APART files...)
function(muster_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS;APART" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} ${arg_LINKS})
  muster_batches(${name} ${arg_APART})
  muster_compile_options(${name})
endfunction()

# muster_test(NAME SOURCES files... DEPENDS targets... LINKS external targets... APART files...)
# Starting a process costs more than most tests: the target runs as two ctests with half of its
# tests each, labelled with the target's name and "unit".
function(muster_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINKS;APART" ${ARGN})
  muster_executable(${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS}
                    LINKS ${arg_LINKS} GTest::gmock GTest::gtest_main APART ${arg_APART})
  foreach(half RANGE 1)
    add_test(NAME ${name}.${half} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name}.${half} PROPERTIES
      TIMEOUT 1800 LABELS "unit;${name}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
  endforeach()
endfunction()

# Most of a file's time goes into headers that its neighbours read too. The kernels stay apart: each
# of their files has a Workspace of its own.
function(muster_batches name)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/kernels")
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${MUSTER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(muster_compile_options name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                                         -Wno-missing-field-initializers)  # defaults are meant
  target_compile_definitions(${name} PRIVATE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
  # Tests compile faster than they would run faster.
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND
     CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests" AND
     NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/bench$")
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(MUSTER_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer
                                           -fno-sanitize-recover=undefined)
    target_link_options(${name} PUBLIC -fsanitize=${MUSTER_SANITIZE})
    # What computes or moves much stays optimised; the rest compiles in half the time without.
    if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES
       "^${PROJECT_SOURCE_DIR}/(kernels|collectives|tests/kernels)")
      target_compile_options(${name} PRIVATE -O0)
    endif()
  endif()
endfunction()
