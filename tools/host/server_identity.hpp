// SPDX-License-Identifier: BSD-3-Clause
// Which server this process is among those of a launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/secret.hpp"

namespace weft::host {

/// For PMIx_server_init. With one server there is no fabric, and the members after `servers` have no effect.
struct ServerIdentity {
  std::string nspace;
  std::uint32_t number = 0;
  std::uint32_t servers = 1;
  std::uint32_t first_servers = 0;  ///< those of lower numbers are there from the start; 0: all
  std::string host;
  base::Secret key;                             ///< 32 bytes
  std::string transport;                        ///< empty: the library's choice
  bool is_on_one_host = false;                  ///< all servers are
  std::string contact;                          ///< the launcher's, for a daemon
  std::optional<std::uint32_t> names_keeper{};  ///< the server that all published names go through
};

}  // namespace weft::host
