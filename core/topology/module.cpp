// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/module.hpp"

namespace {

namespace module = weft::topology::module;

constexpr weft::topology::Module table{
    .version = weft::topology::module_version,
    .load_topology = module::load_topology,
    .load_processors = module::load_processors,
    .copy_topology = module::copy_topology,
    .export_topology = module::export_topology,
    .describe_topology = module::describe_topology,
    .destroy_topology = module::destroy_topology,
    .parse_cpuset = module::parse_cpuset,
    .format_cpuset = module::format_cpuset,
    .copy_cpuset = module::copy_cpuset,
    .equal_cpusets = module::equal_cpusets,
    .destroy_cpuset = module::destroy_cpuset,
    .current_cpuset = module::current_cpuset,
    .locality = module::locality,
    .devices = module::devices,
    .interleave = module::interleave,
    .numa_nodes = module::numa_nodes,
};

}  // namespace

// The name of this function is module_symbol; all other symbols of this library are hidden.
extern "C" [[gnu::visibility("default")]] const weft::topology::Module* weft_topology_module() {
  return &table;
}
