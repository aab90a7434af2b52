// SPDX-License-Identifier: BSD-3-Clause
// What of UCX serves a server on this machine: its network devices, of which WEFT_NET leaves some out, and its modules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/base/networks.hpp"
#include "weft/result.hpp"

namespace weft::ucx {

/// devices: as UCX names them, `eth0` or `mlx5_0:1`. networks: what WEFT_NET says. The list for UCX_NET_DEVICES; empty: all
/// of them, there is nothing to leave out.
/// Errors, why_not holds the text: invalid (no such list), not_found (none is left, or there was none).
Result<std::string> devices_for(const std::vector<std::string>& devices, std::string_view networks,
                                std::string& why_not);

/// A device with the interface that belongs to it and their addresses. sysfs: where the kernel shows them.
transport::Network network_of(const std::string& device, const std::vector<transport::Network>& interfaces,
                              const std::string& sysfs = "/sys");

/// A list for UCX_MODULES, without those that would be loaded in vain: for the memory of GPUs and of other processes of the
/// node, which nothing between servers lies in, and, on a machine without one, for RDMA cards.
std::string useful_modules(const std::string& sysfs = "/sys");

}  // namespace weft::ucx
