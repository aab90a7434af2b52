# SPDX-License-Identifier: BSD-3-Clause
# find_package(weft) defines weft::pmix, the PMIx library.
include(${CMAKE_CURRENT_LIST_DIR}/weft-targets.cmake)
