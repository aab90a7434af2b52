// SPDX-License-Identifier: BSD-3-Clause
// Which server this process is among those of a launch.
#pragma once

#include <cstdint>
#include <string>

namespace weft::host {

/// What PMIx_server_init is told. One server: no fabric, and the rest is not looked at.
struct ServerIdentity {
  std::string nspace;
  std::uint32_t number = 0;
  std::uint32_t servers = 1;
  std::string host;
  std::string key;        ///< 32 bytes
  std::string transport;  ///< empty: the library's choice
  std::string contact;    ///< of the launcher, for a daemon
};

}  // namespace weft::host
