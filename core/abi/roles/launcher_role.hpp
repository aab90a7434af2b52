// SPDX-License-Identifier: BSD-3-Clause
// A tool that is the server of processes that it starts (PMIX_LAUNCHER, PMIx_tool_set_server_module): one
// process with one name and one set of event handlers. What its own server knows is answered there, the rest
// by the server that the tool is connected to.
#pragma once

#include "core/abi/roles/role_adapters.hpp"

namespace weft::abi {

class LauncherRole final : public Role {
 public:
  LauncherRole(client::Tool& tool, server::Server& server) noexcept
      : tool_(tool), server_(server), as_tool_(tool), as_server_(server) {}
  const pmix_proc_t& self() const noexcept override { return tool_.self(); }
  void run_later(std::function<void()> task) override { tool_.run_later(std::move(task)); }
  bool on_thread() const noexcept override { return tool_.on_thread() || server_.on_loop(); }
  pmix_status_t await(const std::function<void(Done)>& start) override {
    return server_.on_loop() ? server_.await(start) : tool_.await(start);
  }
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key,
                               const pmix_value_t& value) override {
    return as_tool_.store_internal(proc, key, value);
  }
  pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                    std::size_t ninfo, const store::GetDirectives& how, data::Value& found) override;
  pmix_status_t get_later(const pmix_proc_t& proc, std::string key, data::Infos infos, Found done) override;
  pmix_value_t* keep(data::Value value) override { return tool_.keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace,
                              std::vector<pmix_proc_t>& out) override;
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out) override;
  events::Registry* events() noexcept override { return &tool_.events(); }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) override;
  void notify(events::Event event, Done done) override;
  pmix_status_t can_query() const noexcept override { return as_tool_.can_query(); }
  void query(link::Query query, Answered done) override { as_tool_.query(std::move(query), std::move(done)); }
  std::shared_ptr<client::Connection> server_connection(pmix_status_t& why_not) override {
    return as_tool_.server_connection(why_not);
  }
  client::Outputs* outputs() noexcept override { return as_tool_.outputs(); }

 private:
  bool has_server() { return tool_.servers().primary_name().has_value(); }

  client::Tool& tool_;
  server::Server& server_;
  ToolRole as_tool_;
  ServerRole as_server_;
};

}  // namespace weft::abi
