# SPDX-License-Identifier: BSD-3-Clause
# How programs of tests are compiled and named. One entry of ctest a program: a process for each of a thousand
# tests took a minute under a sanitizer; GoogleTest names the test that failed, and
# `build/release/bin/store_test --gtest_filter=Board*` runs some.

# GoogleTest's header is a third of what compiling a test costs, so it is parsed once. The flags of an
# executable: a header that was compiled with others is refused.
add_library(weft_test_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/headers.cpp)
set_target_properties(weft_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_link_libraries(weft_test_headers PRIVATE weft_flags GTest::gtest)
target_compile_options(weft_test_headers PRIVATE -fPIE)
target_precompile_headers(weft_test_headers PRIVATE <gtest/gtest.h>)

# Tests are compiled to be compiled fast: lines for a backtrace and half of the optimisation, which halves
# what a test costs.
function(weft_test_flags target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    target_compile_options(${target} PRIVATE -O1 -g1)
  endif()
endfunction()
weft_test_flags(weft_test_headers)

# A program whose every source is a C++ test.
function(weft_test_program target)
  weft_test_flags(${target})
  set_target_properties(${target} PROPERTIES WEFT_TEST ON)
  target_precompile_headers(${target} REUSE_FROM weft_test_headers)
endfunction()

# Sources that are compiled by themselves, because names of theirs are also another source's of the program
# (WEFT_UNITY).
function(weft_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Sets `result` to the variable that makes GoogleTest write down how long each test took, for
# scripts/checks/times.
function(weft_gtest_report entry result)
  set(${result} GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/Testing/gtest/${entry}.xml PARENT_SCOPE)
endfunction()

# What `scripts/test --preset tsan --target weft_thread_tests -- -L threads` builds and runs: what several
# threads share.
add_custom_target(weft_thread_tests)

# weft_unit_test(<program> <name> [THREADS] [TIMEOUT <seconds>] [ENVIRONMENT <NAME=value>...]): the entry
# unit.<name>, where the name is the folder that is tested.
function(weft_unit_test program name)
  cmake_parse_arguments(PARSE_ARGV 2 unit THREADS TIMEOUT ENVIRONMENT)
  weft_test_program(${program})
  # AddressSanitizer sees no race, and without optimisation a million records take a minute: races are tsan's,
  # and the release's.
  set(filter)
  if(unit_THREADS AND WEFT_SANITIZE MATCHES address)
    set(filter --gtest_filter=-*Threads.*)
  endif()
  add_test(NAME unit.${name} COMMAND ${program} ${filter})
  set(labels unit)
  if(unit_THREADS)
    list(APPEND labels threads)
    add_dependencies(weft_thread_tests ${program})
  endif()
  if(NOT unit_TIMEOUT)
    set(unit_TIMEOUT 300)
  endif()
  if(WEFT_SANITIZE)
    math(EXPR unit_TIMEOUT "2 * ${unit_TIMEOUT}")
  endif()
  weft_gtest_report(unit.${name} report)
  set_tests_properties(unit.${name} PROPERTIES
    LABELS "${labels}" TIMEOUT ${unit_TIMEOUT} ENVIRONMENT "${unit_ENVIRONMENT};${report}")
endfunction()
