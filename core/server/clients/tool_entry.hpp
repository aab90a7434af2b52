// SPDX-License-Identifier: BSD-3-Clause
// The way of a tool in: its user, its name, the host's word. The loop's thread only.
// Source: PMIx Standard, chapter "Tools and Debuggers".
#pragma once

#include <string>

#include "core/server/connections/tool_support.hpp"
#include "core/server/connections/tools.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class ToolEntry {
 public:
  ToolEntry(const pmix_proc_t& server, std::string host_name, ToolSupport support, const Jobs& jobs,
            Host& host, Tools& tools)
      : server_(server),
        host_name_(std::move(host_name)),
        support_(std::move(support)),
        jobs_(jobs),
        host_(host),
        tools_(tools) {}

  void handshake(const ConnectionRef& connection, const link::Frame& hello);
  void closed(const ConnectionRef& connection) { tools_.remove(connection); }

 private:
  std::string objection(const link::HelloTool& hello, const ClientConnection& connection,
                        pmix_status_t& status) const;
  link::Welcome own_name() const;
  void answer_look(const ConnectionRef& connection) const;
  pmix_proc_t new_name(const ClientConnection& connection) const;
  bool is_free(const pmix_proc_t& name, const ClientConnection& wanted_by) const;
  bool take_name(const ConnectionRef& connection, const pmix_proc_t& name);
  void ask_host(const ConnectionRef& connection, const link::HelloTool& hello);
  void on_decision(const ConnectionRef& connection, pmix_status_t status, const pmix_proc_t& name);
  void welcome(const ConnectionRef& connection) const;

  const pmix_proc_t server_;
  const std::string host_name_;
  const ToolSupport support_;
  const Jobs& jobs_;
  Host& host_;
  Tools& tools_;
};

}  // namespace weft::server
