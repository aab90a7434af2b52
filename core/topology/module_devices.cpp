// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/host_name.hpp"
#include "core/topology/module.hpp"

namespace weft::topology::module {
namespace {

pmix_device_type_t type_of(hwloc_obj_osdev_type_t type) noexcept {
  switch (type) {
    case HWLOC_OBJ_OSDEV_BLOCK:
      return PMIX_DEVTYPE_BLOCK;
    case HWLOC_OBJ_OSDEV_GPU:
      return PMIX_DEVTYPE_GPU;
    case HWLOC_OBJ_OSDEV_NETWORK:
      return PMIX_DEVTYPE_NETWORK;
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return PMIX_DEVTYPE_OPENFABRICS;
    case HWLOC_OBJ_OSDEV_DMA:
      return PMIX_DEVTYPE_DMA;
    case HWLOC_OBJ_OSDEV_COPROC:
      return PMIX_DEVTYPE_COPROC;
    default:
      return PMIX_DEVTYPE_UNKNOWN;  // later releases of hwloc know more types
  }
}

const char* scheme_of(pmix_device_type_t type) noexcept {
  switch (type) {
    case PMIX_DEVTYPE_BLOCK:
      return "block";
    case PMIX_DEVTYPE_GPU:
      return "gpu";
    case PMIX_DEVTYPE_DMA:
      return "dma";
    case PMIX_DEVTYPE_COPROC:
      return "coproc";
    default:
      return "net";
  }
}

std::string info_of(hwloc_obj_t device, const char* name) {
  const char* const value = hwloc_obj_get_info_by_name(device, name);
  return value == nullptr ? std::string() : std::string(value);
}

// Unique in the cluster: a hardware address if there is one, else the host name and the name of the device.
// Observed with OpenPMIx 4.2.2: the uuid of a network card is "ipv4://" and its MAC address.
std::string uuid_of(hwloc_obj_t device, pmix_device_type_t type, const std::string& host) {
  const std::string address = info_of(device, "Address");
  if (type == PMIX_DEVTYPE_NETWORK && !address.empty()) return "ipv4://" + address;
  const std::string node_guid = info_of(device, "NodeGUID");
  if (type == PMIX_DEVTYPE_OPENFABRICS && !node_guid.empty()) {
    return "fab://" + node_guid + "::" + info_of(device, "SysImageGUID");
  }
  return std::string(scheme_of(type)) + "://" + host + "::" + device->name;
}

// The number of steps from a processor up to the first object that contains both, and down to the device.
int steps(hwloc_topology_t topology, hwloc_obj_t processor, hwloc_obj_t place) noexcept {
  const hwloc_obj_t common = hwloc_get_common_ancestor_obj(topology, processor, place);
  return (processor->depth - common->depth) + (place->depth - common->depth);
}

void measure(Device& device, hwloc_topology_t topology, hwloc_obj_t object, hwloc_const_cpuset_t cpuset) {
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object);
  // Memory objects are beside the tree of processors, at a negative depth: there are no steps to count.
  if (place == nullptr || place->depth < 0) return;
  for (hwloc_obj_t p = nullptr; (p = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, p)) != nullptr;) {
    if (hwloc_bitmap_isset(cpuset, p->os_index) == 0) continue;
    const auto distance =
        static_cast<std::uint16_t>(std::clamp(steps(topology, p, place), 0, UINT16_MAX - 1));
    device.nearest = std::min(device.nearest, distance);
    device.farthest = device.farthest == UINT16_MAX ? distance : std::max(device.farthest, distance);
  }
}

}  // namespace

Result<std::vector<Device>> devices(const void* topology, const void* cpuset) {
  const auto nodes = static_cast<hwloc_topology_t>(const_cast<void*>(topology));
  const std::string host = base::host_name();
  std::vector<Device> found;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_osdev(nodes, o)) != nullptr;) {
    const auto type = type_of(o->attr->osdev.type);
    if (type == PMIX_DEVTYPE_UNKNOWN || o->name == nullptr) continue;
    Device device{.uuid = uuid_of(o, type, host), .os_name = o->name, .type = type};
    measure(device, nodes, o, static_cast<hwloc_const_cpuset_t>(cpuset));
    found.push_back(std::move(device));
  }
  return found;
}

}  // namespace weft::topology::module
