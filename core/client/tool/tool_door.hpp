// SPDX-License-Identifier: BSD-3-Clause
// A tool at the door of a server: the first message and its answer. Blocking, for a bounded time.
#pragma once

#include <chrono>
#include <string>

#include "base/fd.hpp"
#include "core/link/messages.hpp"

namespace weft::client {

/// Whose server a tool speaks to: one of its own user, by the kernel's word; if a user has named it, root
/// also to another's.
enum class Chosen : bool { by_search, by_name };

struct Greeting {
  pmix_status_t status = PMIX_ERR_UNREACH;  ///< the rest is there on PMIX_SUCCESS only
  base::Fd socket;                          ///< empty after a look
  pmix_proc_t server{};
  pmix_proc_t self{};  ///< the tool's name at this server
  bool is_system = false;
};

/// A server that is not stopped says its name at once.
inline constexpr std::chrono::seconds look_limit{2};
/// How long its host may take to decide, where the tool gives no PMIX_TIMEOUT.
inline constexpr std::chrono::seconds entry_limit{10};

/// The name of the server that listens there; its host hears nothing of this.
/// PMIX_ERR_UNREACH (there is none), _NO_PERMISSIONS (another user's), _TIMEOUT (it says nothing),
/// _NOT_SUPPORTED (another release).
Greeting look_at(const std::string& socket, Chosen chosen);
/// Wants to be let in under that name; without a namespace the server gives one. Errors as above;
/// _TIMEOUT also where the server's host does not decide within the limit; and the errors of the server and
/// its host.
Greeting enter(const std::string& socket, Chosen chosen, const pmix_proc_t& self, const std::string& version,
               std::chrono::seconds limit);

}  // namespace weft::client
