// SPDX-License-Identifier: BSD-3-Clause
// Which transport is tried first where nobody chose one.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// By what the machine has, without opening a library:
///   Slingshot (cxi), EFA or Omni-Path (hfi1)   ofi, ucx   libfabric drives these cards, UCX does not
///   all else: InfiniBand, RoCE, TCP            ucx, ofi   over TCP UCX answers in 2/3 of the time of tcp;ofi_rxm and
///                                                         connects in 1/20 (docs/fabrics.md)
/// sysfs: where the kernel shows its devices; a test has one of its own.
std::vector<std::string> preferred_here(const std::string& sysfs = "/sys");

}  // namespace weft::transport
