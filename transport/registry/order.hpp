// SPDX-License-Identifier: BSD-3-Clause
// Which transport is tried first if none was chosen.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// Decides by the devices of the machine, without opening a library:
///   Slingshot (cxi), EFA or Omni-Path (hfi1)  ofi, ucx  libfabric drives these cards, UCX does not
///   all else: InfiniBand, RoCE, TCP           ucx, ofi  over TCP a message there and back takes UCX 10 us,
///                                                       net of libfabric 13, tcp;ofi_rxm 19
///                                                       (weft_fabric_bench --mode rtt --bytes 64, polling,
///                                                       one host)
/// sysfs: where sysfs is mounted; a test passes a folder of its own.
std::vector<std::string> preferred_here(const std::string& sysfs = "/sys");

}  // namespace weft::transport
