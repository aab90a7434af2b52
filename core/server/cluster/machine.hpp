// SPDX-License-Identifier: BSD-3-Clause
// Which machine a server runs on.
#pragma once

#include <cstdint>

namespace weft::server {

/// Of the running kernel: the same for all servers on one machine, in whatever containers, and another one on
/// every other machine. 0: not known. Source: proc(5), /proc/sys/kernel/random/boot_id.
std::uint64_t machine_number();

}  // namespace weft::server
