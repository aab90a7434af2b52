// SPDX-License-Identifier: BSD-3-Clause
// What a child of the host needs to find this server, as environment variables. Any thread; never waits for the loop. set_up()
// takes no lock, so that a host may call it in a child that it has forked.
#pragma once

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/published.hpp"
#include "core/server/connections/tokens.hpp"
#include "core/server/host/launch_info.hpp"

namespace weft::server {

class ChildEnvironment {
 public:
  /// socket: name of the server's; segment: where it is (link::segment_place).
  ChildEnvironment(const Tokens& tokens, std::string socket, std::string segment)
      : tokens_(tokens), socket_(std::move(socket)), user_(::geteuid()), segment_(std::move(segment)) {}

  /// Every child of `nspace` gets these, too (RFC 0029).
  void add(std::string nspace, Envars envars);
  /// The namespace has ended.
  void forget(std::string_view nspace);
  /// env: malloc'ed strings, as execve takes it. PMIX_SUCCESS, PMIX_ERR_NOMEM.
  pmix_status_t set_up(const pmix_proc_t& proc, char*** env) const;

 private:
  using ByNamespace = std::map<std::string, Envars, std::less<>>;

  const Tokens& tokens_;
  const std::string socket_;
  const uid_t user_;  ///< as which the server listens
  const std::string segment_;
  base::Published<ByNamespace> by_namespace_;
};

}  // namespace weft::server
