// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/role_adapters.hpp"

#include <memory>

#include "core/data/names/status.hpp"

namespace weft::abi {

using data::Infos;
using data::Value;

// ---- client

pmix_status_t ClientRole::store_internal(const pmix_proc_t& proc, std::string_view key,
                                         const pmix_value_t& value) {
  return client_.puts().store_internal(proc, key, value);
}

pmix_status_t ClientRole::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                              std::size_t ninfo, const store::GetDirectives& how, Value& found) {
  auto known = client_.gets().look_up(proc, key, how);
  if (!known) return client_.gets().ask_server(known.error(), proc, key, infos, ninfo, how, found);
  found = std::move(*known);  // the path of nearly every Get
  return PMIX_SUCCESS;
}

pmix_status_t ClientRole::get_later(const pmix_proc_t& proc, std::string key, Infos infos, Found done) {
  client_.gets().get_later(proc, std::move(key), std::move(infos), std::move(done));
  return PMIX_SUCCESS;
}

pmix_status_t ClientRole::resolve_peers(std::string_view node, std::string_view nspace,
                                        std::vector<pmix_proc_t>& out) {
  return client_.gets().resolve_peers(node, nspace, out);
}

pmix_status_t ClientRole::resolve_nodes(std::string_view nspace, std::string& out) {
  return client_.gets().resolve_nodes(nspace, out);
}

void ClientRole::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) {
  client_.subscribe(handler, std::move(codes), std::move(done));
}

void ClientRole::notify(events::Event event, Done done) {
  client_.notify(std::move(event), std::move(done));
}

pmix_status_t ClientRole::can_query() const noexcept {
  return client_.singleton() ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

void ClientRole::query(link::Query query, Answered done) {
  client_.query_later(std::move(query), std::move(done));
}

std::shared_ptr<client::Connection> ClientRole::server_connection(pmix_status_t& why_not) {
  why_not = PMIX_ERR_UNREACH;
  return client_.singleton() ? nullptr : client_.connection();
}

// ---- server

pmix_status_t ServerRole::await(const std::function<void(Done)>& start) {
  return server_.await(start);
}

pmix_status_t ServerRole::store_internal(const pmix_proc_t& proc, std::string_view key,
                                         const pmix_value_t& value) {
  return server_.host_data().store(proc, key, value);
}

/// A host may call this on the only thread that could do what a longer wait is for.
pmix_status_t ServerRole::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t*, std::size_t,
                              const store::GetDirectives& how, Value& found) {
  auto known = server_.host_data().look_up(proc, key, how);
  if (known) {
    found = std::move(*known);
    return PMIX_SUCCESS;
  }
  const bool is_hidden = known.error().code == Errc::outside_scope && how.scope == PMIX_SCOPE_UNDEF;
  return is_hidden ? PMIX_ERR_NOT_FOUND : data::to_status(known.error());  // as decide_get() has it
}

pmix_status_t ServerRole::get_later(const pmix_proc_t& proc, std::string key, Infos infos, Found done) {
  server_.host_data().get(proc, std::move(key), std::move(infos), std::move(done));
  return PMIX_SUCCESS;
}

pmix_status_t ServerRole::resolve_peers(std::string_view node, std::string_view nspace,
                                        std::vector<pmix_proc_t>& out) {
  const auto found = std::make_shared<std::vector<pmix_proc_t>>();
  const auto status = server_.await([&](const Done& done) {
    server_.host_data().peers_on(std::string(node), std::string(nspace),
                                 [found, done](pmix_status_t answer, std::vector<pmix_proc_t> peers) {
                                   *found = std::move(peers);
                                   done(answer);
                                 });
  });
  if (status == PMIX_SUCCESS) out.insert(out.end(), found->begin(), found->end());
  return status;
}

pmix_status_t ServerRole::resolve_nodes(std::string_view nspace, std::string& out) {
  const auto found = std::make_shared<std::string>();
  const auto status = server_.await([&](const Done& done) {
    server_.host_data().nodes_of(std::string(nspace), [found, done](pmix_status_t answer, std::string names) {
      *found = std::move(names);
      done(answer);
    });
  });
  if (status == PMIX_SUCCESS) out = std::move(*found);
  return status;
}

/// A server has all events pass through it.
void ServerRole::subscribe(std::size_t, std::vector<pmix_status_t>, Done done) {
  run_later([done = server::answered_once(std::move(done))] { done(PMIX_SUCCESS); });
}

void ServerRole::notify(events::Event event, Done done) {
  server_.notify(std::move(event), std::move(done));
}

void ServerRole::query(link::Query query, Answered done) {
  server_.query(std::move(query), std::move(done));
}

std::shared_ptr<client::Connection> ServerRole::server_connection(pmix_status_t& why_not) {
  why_not = PMIX_ERR_NOT_SUPPORTED;
  return nullptr;
}

// ---- tool

pmix_status_t ToolRole::store_internal(const pmix_proc_t& proc, std::string_view key,
                                       const pmix_value_t& value) {
  return tool_.store_internal(proc, key, value);
}

pmix_status_t ToolRole::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                            std::size_t ninfo, const store::GetDirectives& how, Value& found) {
  return tool_.get(proc, key, infos, ninfo, how, found);
}

pmix_status_t ToolRole::get_later(const pmix_proc_t& proc, std::string key, Infos infos, Found done) {
  tool_.get_later(proc, std::move(key), std::move(infos), std::move(done));
  return PMIX_SUCCESS;
}

pmix_status_t ToolRole::resolve_peers(std::string_view node, std::string_view nspace,
                                      std::vector<pmix_proc_t>& out) {
  return tool_.resolve_peers(node, nspace, out);
}

pmix_status_t ToolRole::resolve_nodes(std::string_view nspace, std::string& out) {
  return tool_.resolve_nodes(nspace, out);
}

void ToolRole::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) {
  tool_.subscribe(handler, std::move(codes), std::move(done));
}

void ToolRole::notify(events::Event event, Done done) {
  tool_.notify(std::move(event), std::move(done));
}

void ToolRole::query(link::Query query, Answered done) {
  tool_.query_later(std::move(query), std::move(done));
}

std::shared_ptr<client::Connection> ToolRole::server_connection(pmix_status_t& why_not) {
  why_not = PMIX_ERR_UNREACH;
  return tool_.servers().primary_connection();
}

}  // namespace weft::abi
