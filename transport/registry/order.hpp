// SPDX-License-Identifier: BSD-3-Clause
// Which transport is tried first if none was chosen.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// As WEFT_TRANSPORT would name them. Decides by the devices of the machine, without opening a library:
///   Slingshot (cxi), EFA or Omni-Path (hfi1)  ofi, ucx, tcp  libfabric drives these cards, UCX does not
///   InfiniBand, RoCE                          ucx, ofi, tcp  both without TCP, where strangers reach them
///   all else                                  tcp
/// sysfs: where sysfs is mounted; a test passes a folder of its own.
std::vector<std::string> preferred_here(const std::string& sysfs = "/sys");

/// Where all endpoints are processes of one user on one host: no port is opened.
std::vector<std::string> preferred_on_one_host();

}  // namespace weft::transport
