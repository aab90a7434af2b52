// SPDX-License-Identifier: BSD-3-Clause
// The three roles as Role has them. The adapters own nothing; Roles owns the roles.
#pragma once

#include "core/abi/roles/role.hpp"

namespace weft::abi {

class ClientRole final : public Role {
 public:
  explicit ClientRole(client::Client& client) noexcept : client_(client) {}
  const pmix_proc_t& self() const noexcept override { return client_.self(); }
  void run_later(std::function<void()> task) override { client_.connection()->run_later(std::move(task)); }
  bool on_thread() const noexcept override { return client_.connection()->on_thread(); }
  pmix_status_t await(const std::function<void(Done)>& start) override {
    return client_.connection()->await_status(start);
  }
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key,
                               const pmix_value_t& value) override;
  pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                    std::size_t ninfo, const store::GetDirectives& how, data::Value& found) override;
  pmix_status_t get_later(const pmix_proc_t& proc, std::string key, data::Infos infos, Found done) override;
  pmix_value_t* keep(data::Value value) override { return client_.keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace,
                              std::vector<pmix_proc_t>& out) override;
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out) override;
  events::Registry* events() noexcept override { return &client_.events(); }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) override;
  void notify(events::Event event, Done done) override;
  pmix_status_t can_query() const noexcept override;
  void query(link::Query query, Answered done) override;
  std::shared_ptr<client::Connection> server_connection(pmix_status_t& why_not) override;
  client::Outputs* outputs() noexcept override { return &client_.outputs(); }

 private:
  client::Client& client_;
};

class ServerRole final : public Role {
 public:
  explicit ServerRole(server::Server& server) noexcept : server_(server) {}
  const pmix_proc_t& self() const noexcept override { return server_.self(); }
  void run_later(std::function<void()> task) override { server_.run_later(std::move(task)); }
  bool on_thread() const noexcept override { return server_.on_loop(); }
  pmix_status_t await(const std::function<void(Done)>& start) override;
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key,
                               const pmix_value_t& value) override;
  pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                    std::size_t ninfo, const store::GetDirectives& how, data::Value& found) override;
  pmix_status_t get_later(const pmix_proc_t& proc, std::string key, data::Infos infos, Found done) override;
  pmix_value_t* keep(data::Value value) override { return server_.host_data().keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace,
                              std::vector<pmix_proc_t>& out) override;
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out) override;
  events::Registry* events() noexcept override { return &server_.events(); }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) override;
  void notify(events::Event event, Done done) override;
  pmix_status_t can_query() const noexcept override { return PMIX_SUCCESS; }
  void query(link::Query query, Answered done) override;
  std::shared_ptr<client::Connection> server_connection(pmix_status_t& why_not) override;
  client::Outputs* outputs() noexcept override { return nullptr; }

 private:
  server::Server& server_;
};

class ToolRole final : public Role {
 public:
  explicit ToolRole(client::Tool& tool) noexcept : tool_(tool) {}
  const pmix_proc_t& self() const noexcept override { return tool_.self(); }
  void run_later(std::function<void()> task) override { tool_.run_later(std::move(task)); }
  bool on_thread() const noexcept override { return tool_.on_thread(); }
  pmix_status_t await(const std::function<void(Done)>& start) override { return tool_.await(start); }
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key,
                               const pmix_value_t& value) override;
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
  pmix_status_t can_query() const noexcept override { return PMIX_SUCCESS; }
  void query(link::Query query, Answered done) override;
  std::shared_ptr<client::Connection> server_connection(pmix_status_t& why_not) override;
  client::Outputs* outputs() noexcept override { return &tool_.outputs(); }

 private:
  client::Tool& tool_;
};

}  // namespace weft::abi
