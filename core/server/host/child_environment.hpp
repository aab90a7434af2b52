// SPDX-License-Identifier: BSD-3-Clause
// What a child of the host needs to find this server, as environment variables. Any thread; never waits for the loop.
#pragma once

#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/connections/tokens.hpp"
#include "core/server/host/launch_info.hpp"

namespace weft::server {

class ChildEnvironment {
 public:
  /// socket: name of the server's; segment: where it is (link::segment_place).
  ChildEnvironment(Tokens& tokens, std::string socket, std::string segment)
      : tokens_(tokens), socket_(std::move(socket)), user_(::geteuid()), segment_(std::move(segment)) {}

  /// Every child of `nspace` gets these, too (RFC 0029).
  void add(std::string nspace, Variables variables);
  /// env: malloc'ed strings, as execve takes it. PMIX_SUCCESS, PMIX_ERR_NOMEM.
  pmix_status_t set_up(const pmix_proc_t& proc, char*** env);

 private:
  Tokens& tokens_;
  const std::string socket_;
  const uid_t user_;  ///< as which the server listens
  const std::string segment_;
  std::mutex mutex_;
  std::map<std::string, Variables, std::less<>> by_namespace_;
};

}  // namespace weft::server
