// SPDX-License-Identifier: BSD-3-Clause
// Which transport is tried first if none was chosen.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

struct Order {
  std::vector<std::string> transports;  ///< as WEFT_TRANSPORT would name them, the best first
  std::string note{};  ///< why a card that is there is not used, and what to do; one line, or empty
};

/// Decides by the devices of the machine, without opening a library. Only devices of which a port is active
/// and has an address count:
///   Slingshot (cxi), EFA, Omni-Path (hfi1)  ofi over the card's provider, tcp
///   InfiniBand, RoCE                        ofi over verbs, tcp
///   all else                                tcp
/// ucx is not among them: any process that reaches the card's network can write the memory of a process that
/// uses it (decision 0007).
/// sysfs: where sysfs is mounted; a test passes a folder of its own.
Order preferred_here(const std::string& sysfs = "/sys");

/// Where all endpoints are processes of one user on one host: no port is opened.
Order preferred_on_one_host();

}  // namespace weft::transport
