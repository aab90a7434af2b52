// SPDX-License-Identifier: BSD-3-Clause
// How far a network card is from here. From sysfs, not hwloc: three small files, where a whole topology takes a
// megabyte and milliseconds that every daemon would pay for.
#pragma once

#include <string>
#include <string_view>

namespace weft::transport {

class Locality {
 public:
  static constexpr int unknown = -1;

  /// root: where sysfs is mounted.
  Locality() : Locality("/sys") {}
  explicit Locality(std::string root) : root_(std::move(root)) {}

  /// The NUMA node of a PCI device, as `0000:3b:00.0`; `unknown` also where the firmware does not say.
  int node_of_pci(std::string_view address) const;
  /// Of a network interface or an RDMA device; `unknown` for those that no hardware stands behind.
  int node_of_device(std::string_view name) const;
  /// As the firmware says it: 10 is the same node, more is farther. An unknown one is hardly farther than the own.
  unsigned distance(int from, int to) const;

 private:
  int read_node(const std::string& file) const;

  std::string root_;
};

/// Of the processor that runs the caller.
int own_numa_node() noexcept;

}  // namespace weft::transport
