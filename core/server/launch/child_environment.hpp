// SPDX-License-Identifier: BSD-3-Clause
// What a child of the host needs to find this server, as environment variables. Any thread; never waits for
// the loop. set_up() takes no lock, so that a host may call it in a child that it has forked.
#pragma once

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads/published.hpp"
#include "core/server/connections/tokens.hpp"
#include "core/server/launch/launch_info.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::server {

class ChildEnvironment {
 public:
  /// socket: name of the server's; socket_file: path of that which is a file, or empty; server_fd: of the
  /// server's memory; jobs: the segment itself.
  ChildEnvironment(const Tokens& tokens, std::string socket, std::string socket_file, int server_fd,
                   shm::SegmentBytes jobs)
      : tokens_(tokens),
        socket_(std::move(socket)),
        socket_file_(std::move(socket_file)),
        user_(::geteuid()),
        server_(::getpid()),
        server_fd_(server_fd),
        jobs_(jobs) {}

  /// The children of `nspace` get these, too (RFC 0029): what is for one application, its processes only.
  void add(std::string nspace, Envars envars);
  /// The namespace has ended.
  void forget(std::string_view nspace);
  /// env: malloc'ed strings, as execve takes it. PMIX_SUCCESS, PMIX_ERR_NOMEM, PMIX_ERR_NOT_FOUND (something
  /// is for one application, and no job map says of which this process is: `env` is unchanged).
  pmix_status_t set_up(const pmix_proc_t& proc, char*** env) const;

 private:
  using ByNamespace = std::map<std::string, Envars, std::less<>>;
  /// Errors: not_found (it is not registered).
  Result<store::JobView> job_of(const pmix_proc_t& proc) const;
  /// Nothing: not registered.
  std::optional<std::uint32_t> application_of(const pmix_proc_t& proc) const;
  pmix_status_t change(const Envars& envars, const pmix_proc_t& proc, char*** env) const;

  const Tokens& tokens_;
  const std::string socket_, socket_file_;
  const uid_t user_;    ///< as which the server listens
  const pid_t server_;  ///< set_up() may run in a child
  const int server_fd_;
  const shm::SegmentBytes jobs_;
  base::Published<ByNamespace> by_namespace_;
};

}  // namespace weft::server
