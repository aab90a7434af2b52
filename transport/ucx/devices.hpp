// SPDX-License-Identifier: BSD-3-Clause
// The UCX network devices that WEFT_NET allows, and the UCX modules that are useful on this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/base/networks.hpp"
#include "weft/result.hpp"

namespace weft::ucx {

/// Returns the value for UCX_NET_DEVICES; empty: no device is excluded.
///   devices   as UCX names them, `eth0` or `mlx5_0:1`
///   networks  the value of WEFT_NET
/// Errors, explained in why_not: invalid (malformed list), not_found (no device left, or none present).
Result<std::string> devices_for(const std::vector<std::string>& devices, std::string_view networks,
                                std::string& why_not);

/// A device under its own name and that of its network interface, with their addresses. sysfs: where sysfs is
/// mounted.
transport::Network network_of(const std::string& device, const std::vector<transport::Network>& interfaces,
                              const std::string& sysfs = "/sys");

/// Whether a list of transports, as UCX_TLS takes it, has reliable connections and nothing to set them up
/// with: rc_verbs and rc_mlx5 exchange their first words over ud or dc. The short names (rc, rc_v, rc_x, ib,
/// all) bring it. Without it UCX 1.13 takes the list, and then loses every peer, or crashes.
bool lacks_wireup(std::string_view transports) noexcept;

/// Returns the value for UCX_MODULES. It excludes modules that servers never use: for GPU memory, for copies
/// between processes of one node and, on a machine without an RDMA card, for RDMA.
std::string useful_modules(const std::string& sysfs = "/sys");

}  // namespace weft::ucx
