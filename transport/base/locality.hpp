// SPDX-License-Identifier: BSD-3-Clause
// How far a network card is from the calling processor. From sysfs, not hwloc: three small files, where a
// whole topology takes a megabyte and milliseconds in every daemon.
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

  /// The NUMA node of a PCI device such as `0000:3b:00.0`; `unknown` also where the firmware does not report
  /// it.
  int node_of_pci(std::string_view address) const;
  /// The NUMA node of a network interface or an RDMA device; `unknown` for those without hardware.
  int node_of_device(std::string_view name) const;
  /// The distance that the firmware reports: 10 is the same node, more is farther. An unknown node counts as
  /// hardly farther than the same.
  unsigned distance(int from, int to) const;

 private:
  int read_node(const std::string& file) const;

  std::string root_;
};

/// The NUMA node of the processor that runs the caller.
int own_numa_node() noexcept;

}  // namespace weft::transport
