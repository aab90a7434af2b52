// SPDX-License-Identifier: BSD-3-Clause
// What a process gets, and does not load, when weft/topology.so is not there. ctest points WEFT_MODULE_PATH
// at nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "core/data/types/element.hpp"
#include "core/topology/local.hpp"
#include "core/topology/locality.hpp"
#include "core/topology/memory.hpp"
#include "core/topology/opaque_types.hpp"

namespace weft::topology {
namespace {

bool is_mapped(std::string_view library) {
  std::ifstream maps("/proc/self/maps");
  EXPECT_TRUE(maps);
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

TEST(WithoutModule, fails_by_name) {
  EXPECT_EQ(load_module().error().code, Errc::not_supported);
  EXPECT_EQ(local_topology().error().code, Errc::not_supported);
  EXPECT_FALSE(is_local(nullptr));
}

TEST(WithoutModule, localities_and_single_nodes_work) {
  EXPECT_TRUE(relative_locality("hwloc:NM0", "hwloc:NM0"));
  unsigned char page = 0;
  EXPECT_TRUE(interleave_memory(&page, 1, {}));
}

TEST(WithoutModule, handles_are_forgotten_not_freed_wrongly) {
  install_opaque_types();
  int not_ours = 0;
  pmix_cpuset_t cpuset{::strdup("hwloc"), &not_ours};
  pmix_topology_t topology{::strdup("hwloc"), &not_ours};
  data::destroy_elements(PMIX_PROC_CPUSET, &cpuset, 1);
  data::destroy_elements(PMIX_TOPO, &topology, 1);
  EXPECT_EQ(cpuset.bitmap, nullptr);
  EXPECT_EQ(topology.topology, nullptr);
}

TEST(WithoutModule, maps_neither_hwloc_nor_libnuma) {
  install_opaque_types();
  EXPECT_TRUE(is_mapped("libc.so"));
  EXPECT_FALSE(is_mapped("hwloc"));
  EXPECT_FALSE(is_mapped("libnuma"));
}

}  // namespace
}  // namespace weft::topology
