# SPDX-License-Identifier: BSD-3-Clause
# All are Debian packages (scripts/install_packages). Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(NUMA REQUIRED IMPORTED_TARGET numa)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Fabrics are optional: each that is found is a transport more.
if(WEFT_FABRICS)
  pkg_check_modules(LIBFABRIC IMPORTED_TARGET libfabric>=1.15)
  pkg_check_modules(UCX IMPORTED_TARGET ucx>=1.13)
  if(LIBFABRIC_FOUND)
    message(STATUS "Transport ofi: libfabric ${LIBFABRIC_VERSION}")
  else()
    message(STATUS "Transport ofi: not built, pkg-config knows no libfabric (Debian: libfabric-dev)")
  endif()
  if(UCX_FOUND)
    message(STATUS "Transport ucx: UCX ${UCX_VERSION}")
  else()
    message(STATUS "Transport ucx: not built, pkg-config knows no UCX of 1.13 or newer (Debian: libucx-dev)")
  endif()
endif()

# Header-only, so that a client process loads no further library because of it.
add_library(weft_xxhash INTERFACE)
target_compile_definitions(weft_xxhash INTERFACE XXH_INLINE_ALL)
add_library(weft_asio INTERFACE)
# Without the last one Asio 1.22 allocates with aligned_alloc or with operator new, depending on whether a standard
# header came before it in that file; what one file allocates another frees the other way.
target_compile_definitions(weft_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED ASIO_DISABLE_STD_ALIGNED_ALLOC)
target_link_libraries(weft_asio INTERFACE Threads::Threads)
