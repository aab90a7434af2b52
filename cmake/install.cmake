# SPDX-License-Identifier: BSD-3-Clause
# What finds the installed library: pkg-config, CMake, man. The parts install themselves in their folders.
# Components are what packages are made of (packaging/): library, programs, development, documentation.
include(CMakePackageConfigHelpers)
configure_file(cmake/install_pmix_pc.cmake.in install_pmix_pc.cmake @ONLY)
install(SCRIPT ${CMAKE_CURRENT_BINARY_DIR}/install_pmix_pc.cmake COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pmix.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES docs/man/weftrun.1 docs/man/weftd.1 docs/man/weftpmi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES docs/man/weft.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT programs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES cmake/weft-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake DESTINATION ${package}
  COMPONENT development)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package} COMPONENT development)

# One file completes all programs that users call; bash looks for it by the name of the command.
set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(program weftrun weftinfo weftsim weftbench weftd weftpmi)
  install(FILES packaging/completion.bash DESTINATION ${completions} RENAME ${program} COMPONENT programs)
endforeach()
