# SPDX-License-Identifier: BSD-3-Clause
# Every target of ours links weft_flags; nothing sets compiler flags elsewhere. Tests are compiled together
# (WEFT_UNITY), and a local name of a test may be a name of the whole file in another.
add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Werror -Wswitch $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WEFT_TEST>>>:-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
target_include_directories(weft_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

set(WEFT_SANITIZE "" CACHE STRING "Value for -fsanitize= (address,undefined or thread)")
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES undefined AND NOT WEFT_SANITIZE MATCHES fuzzer)
    # A check of null and alignment stands at each access. AddressSanitizer reports an access by a null
    # pointer; alignment is checked where memory is laid out by hand (WEFT_LAYS_OUT_MEMORY), and by the fuzzer
    # in all that decodes.
    target_compile_options(weft_flags INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WEFT_LAYS_OUT_MEMORY>>>:-fno-sanitize=null,alignment>)
    # A check that calls UBSan's library has two pointers of its own, which each process relocates at its
    # start: a million of them were most of what a test's processes cost. Checks trap instead, and
    # AddressSanitizer says at which line (handle_sigill=1). Whether an object is of the type that a cast says
    # is seen by the library alone: transports, which cast to their own peers and operations, call it
    # (WEFT_CASTS_DOWN).
    target_compile_options(weft_flags INTERFACE
      $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<BOOL:$<TARGET_PROPERTY:WEFT_CASTS_DOWN>>>>:-fsanitize-undefined-trap-on-error>)
  endif()
  if(WEFT_SANITIZE MATCHES thread)
    # Our fences only decide which side looks last (doorbell, watched card); they alone publish no data.
    # What the sanitizer puts between hides from the compiler that an std::optional has its value (GCC's
    # manual, at that warning).
    target_compile_options(weft_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
endif()

# What parses bytes of other processes has a second line behind its checks. Sanitizers bring their own;
# without optimization there is no fortification. Targets of the client that a Get runs through and that
# decode no bytes of others themselves (WEFT_ON_GET_PATH) guard the frames that have buffers only: such guards
# are a twentieth of a Get.
if(NOT WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:WEFT_ON_GET_PATH>>,-fstack-protector,-fstack-protector-strong>
    $<$<CONFIG:RelWithDebInfo,Release>:-U_FORTIFY_SOURCE>
    $<$<CONFIG:RelWithDebInfo,Release>:-D_FORTIFY_SOURCE=3>
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
  target_link_options(weft_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()

# The sources of a target are compiled a dozen at a time: most of what a source costs is its headers and the
# templates that all of them use, so a build takes a third of the time. A source must include what it names
# all the same: the preset debug compiles each by itself. Where nothing is edited between two builds, as in
# .ci/run, more at a time take less: the server half of what it takes by the dozen.
option(WEFT_UNITY "Compile the sources of a target together" ON)
set(WEFT_UNITY_BATCH 12 CACHE STRING "How many sources of a target are compiled together")
set(CMAKE_UNITY_BUILD ${WEFT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE ${WEFT_UNITY_BATCH})

# What is loaded into many processes, or has to run where the C++ library is another one, brings its own
# along: loading and relocating libstdc++ is a third of a small program's page faults at start-up, and a
# megabyte.
function(weft_own_cxx_library target)
  if(NOT WEFT_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--exclude-libs,ALL)
  endif()
endfunction()

# The tests' precompiled header is cached like any other file, if ccache is told that the header's time and
# macros do not matter: it is compiled with the flags of all that use it.
find_program(WEFT_CCACHE ccache)
find_program(WEFT_ENV env)
if(WEFT_CCACHE AND WEFT_ENV)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEFT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_ENV} CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
endif()
