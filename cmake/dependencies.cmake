# SPDX-License-Identifier: BSD-3-Clause
# All are Debian packages (scripts/install_packages). Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
# Without std::locale, which no message of ours asks for and which would bring all of iostreams into libpmix.
add_library(weft_fmt INTERFACE)
target_link_libraries(weft_fmt INTERFACE fmt::fmt-header-only)
target_compile_definitions(weft_fmt INTERFACE FMT_STATIC_THOUSANDS_SEPARATOR=',')
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(NUMA REQUIRED IMPORTED_TARGET numa)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Statically: libpmix holds the server's part, and a client that loads it is not to load one library more.
function(weft_find_archive target package)
  pkg_check_modules(${target} REQUIRED ${package})
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${${target}_INCLUDE_DIRS})
  find_library(${target}_ARCHIVE ${package}.a HINTS ${${target}_LIBRARY_DIRS})
  if(${target}_ARCHIVE)
    target_link_libraries(${target} INTERFACE ${${target}_ARCHIVE})
    # Debian's archive is not position-independent throughout: in a module its symbols must be the module's
    # own.
    target_link_options(${target} INTERFACE LINKER:--exclude-libs,${package}.a)
  else()
    message(STATUS "${package}: no ${package}.a here, so whatever loads libpmix loads ${package}, too")
    target_link_libraries(${target} INTERFACE ${${target}_LINK_LIBRARIES})
  endif()
endfunction()
weft_find_archive(weft_sodium libsodium)
weft_find_archive(weft_zstd libzstd)

# Fabrics are optional: each that is found is a transport more.
if(WEFT_OFI)
  pkg_check_modules(LIBFABRIC IMPORTED_TARGET libfabric>=1.15)
endif()
if(WEFT_UCX)
  pkg_check_modules(UCX IMPORTED_TARGET ucx>=1.13)
endif()
if(LIBFABRIC_FOUND)
  # libibverbs is asked only what a card allows; without it the defaults of rxm stand.
  pkg_check_modules(VERBS IMPORTED_TARGET libibverbs)
  message(STATUS "Transport ofi: libfabric ${LIBFABRIC_VERSION}")
elseif(WEFT_OFI)
  message(STATUS "Transport ofi: not built, pkg-config knows no libfabric of 1.15 or newer (Debian: libfabric-dev)")
else()
  message(STATUS "Transport ofi: not built, WEFT_OFI is off")
endif()
if(UCX_FOUND)
  message(STATUS "Transport ucx: UCX ${UCX_VERSION}")
elseif(WEFT_UCX)
  message(STATUS "Transport ucx: not built, pkg-config knows no UCX of 1.13 or newer (Debian: libucx-dev)")
else()
  message(STATUS "Transport ucx: not built, WEFT_UCX is off")
endif()

# The transport tcp, a module: whatever loads libpmix does not load it.
pkg_check_modules(OPENSSL REQUIRED IMPORTED_TARGET openssl>=3.0)

# Header-only, so that a client process loads no further library because of it.
add_library(weft_xxhash INTERFACE)
target_compile_definitions(weft_xxhash INTERFACE XXH_INLINE_ALL)
add_library(weft_asio INTERFACE)
# Without the last one Asio 1.22 allocates with aligned_alloc or with operator new, depending on whether a
# standard header came before it in that file; what one file allocates another frees the other way.
target_compile_definitions(weft_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED ASIO_DISABLE_STD_ALIGNED_ALLOC)
target_link_libraries(weft_asio INTERFACE Threads::Threads)
