// SPDX-License-Identifier: BSD-3-Clause
// The network addresses of this machine, as other machines may reach it by.
#pragma once

#include <cstddef>
#include <string>

namespace weft::allocation {

/// "10.1.2.3,fd00::1": IPv4 and IPv6 addresses of interfaces that are up, in the system's order, each once.
/// Left out: the loopback, and addresses that mean nothing without an interface (fe80::). No longer than that
/// many bytes: what has no room is left out. Empty: there is none, or the system does not tell.
inline constexpr std::size_t longest_addresses = 256;
std::string own_addresses();

}  // namespace weft::allocation
