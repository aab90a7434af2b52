// SPDX-License-Identifier: BSD-3-Clause
// Topologies of machines that are not here: hwloc invents them, the module reads them as XML.
#pragma once

#include <gtest/gtest.h>
#include <hwloc.h>

#include <memory>
#include <string>

#include "core/topology/loader.hpp"

namespace weft::topology::test {

inline const Module& module() {
  const auto loaded = load_module();
  if (!loaded) std::abort();  // WEFT_MODULE_PATH is set by ctest
  return **loaded;
}

/// XML of what `hwloc_topology_set_synthetic` describes.
inline std::string synthetic_xml(const char* description) {
  hwloc_topology_t topology = nullptr;
  char* text = nullptr;
  int size = 0;
  hwloc_topology_init(&topology);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  EXPECT_EQ(hwloc_topology_export_xmlbuffer(topology, &text, &size, 0), 0);
  std::string xml(text);
  hwloc_free_xmlbuffer(topology, text);
  hwloc_topology_destroy(topology);
  return xml;
}

/// 2 packages x 1 NUMA node x 1 L3 x 2 L2 x 2 cores (an L1 each) x 2 hardware threads.
constexpr const char* two_packages = "pack:2 numa:1 l3:1 l2:2 l1d:2 core:1 pu:2";

// Owned handles of the module.
struct EndTopology {
  void operator()(void* topology) const { module().destroy_topology(topology); }
};
struct EndCpuset {
  void operator()(void* cpuset) const { module().destroy_cpuset(cpuset); }
};
using Topology = std::unique_ptr<void, EndTopology>;
using Cpuset = std::unique_ptr<void, EndCpuset>;

inline Topology load(const std::string& xml) {
  auto topology = module().load_topology(xml.c_str(), Origin::elsewhere);
  EXPECT_TRUE(topology);
  return Topology(topology.value_or(nullptr));
}
inline Cpuset cpus(std::string_view list) {
  auto cpuset = module().parse_cpuset(list);
  EXPECT_TRUE(cpuset) << list;
  return Cpuset(cpuset.value_or(nullptr));
}
inline std::string text_of(const Cpuset& cpuset) {
  return module().format_cpuset(cpuset.get()).value_or("?");
}

}  // namespace weft::topology::test
