// SPDX-License-Identifier: BSD-3-Clause
// Finding the server that a tool wants, in the Standard's order of precedence, and going in. Blocking, for a
// bounded time.
// Source: PMIx Standard, chapter "Tools and Debuggers", "Rendezvousing with a local server".
#pragma once

#include <string>
#include <vector>

#include "core/client/tool/server_wish.hpp"
#include "core/client/tool/tool_door.hpp"
#include "core/link/servers.hpp"

namespace weft::client {

struct VisibleServer {
  link::ServerSocket at;
  Greeting greeting;  ///< of a look
};
/// All that say their name. Without one, why_not: of the last that is there and does not; PMIX_ERR_UNREACH:
/// there is none.
std::vector<VisibleServer> visible_servers(pmix_status_t& why_not);

/// A server that the tool is connected to.
struct KnownServer {
  std::string socket;
  pmix_proc_t name{};
};

/// What a tool says of itself, and where it is in already.
struct Caller {
  pmix_proc_t self{};
  std::string version;
  std::vector<KnownServer> known;
};

struct FoundServer {
  Greeting greeting;
  std::string socket;
  bool is_known =
      false;  ///< the server that was named is one of the known: of the greeting there is its name alone
};
/// The status of the greeting: PMIX_ERR_UNREACH (there is none, or no new one), PMIX_ERR_NOT_FOUND (no such
/// file), PMIX_ERR_NOT_SUPPORTED (no URI of this library's), and those of enter().
FoundServer find_server(const ServerWish& wish, const Caller& caller);

}  // namespace weft::client
