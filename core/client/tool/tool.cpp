// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool/tool.hpp"

#include <unistd.h>

#include "base/host_name.hpp"
#include "core/client/connection/request.hpp"
#include "core/data/names/status.hpp"

namespace weft::client {
namespace {

/// The name of a tool that no server has let in.
pmix_proc_t own_name(const pmix_proc_t& wanted) {
  if (wanted.nspace[0] != '\0') return wanted;
  return link::make_proc("tool." + base::host_name() + "." + std::to_string(::getpid()), 0);
}

}  // namespace

Tool::Tool(const pmix_proc_t& self, std::string version)
    : self_(self), servers_(self, std::move(version), outputs_) {}

Tool::Started Tool::start(const ServerWish& wish, const pmix_proc_t& self, std::string version) {
  FoundServer found;
  if (wish.connects) {
    found = find_server(wish, {self, version, {}});
    if (found.greeting.status != PMIX_SUCCESS && !wish.is_optional) return {nullptr, found.greeting.status};
  }
  const bool is_connected = wish.connects && found.greeting.status == PMIX_SUCCESS;
  std::unique_ptr<Tool> tool(
      new Tool(is_connected ? found.greeting.self : own_name(self), std::move(version)));
  if (is_connected) tool->servers_.add(std::move(found), true);
  return {std::move(tool), PMIX_SUCCESS};
}

// ---- the thread

pmix_status_t Tool::await(const std::function<void(Done)>& start) {
  return servers_.working_connection()->await_status(start, patience);
}

bool Tool::on_thread() {
  return servers_.working_connection()->on_thread();
}

void Tool::run_later(std::function<void()> task) {
  servers_.working_connection()->run_later(std::move(task));
}

// ---- data

Result<data::Value> Tool::known_value(const pmix_proc_t& proc, std::string_view key) const {
  if (private_.empty() || key.empty()) return fail(Errc::not_found);
  return private_.find(link::nspace_of(proc), proc.rank, key);
}

pmix_status_t Tool::store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value) {
  const auto stored = private_.store(link::nspace_of(proc), proc.rank, key, value);
  return stored ? PMIX_SUCCESS : data::to_status(stored.error());
}

pmix_status_t Tool::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                        std::size_t ninfo, const store::GetDirectives& how, data::Value& found) {
  if (auto value = known_value(proc, key)) {
    found = std::move(*value);
    return PMIX_SUCCESS;
  }
  if (how.optional) return PMIX_ERR_NOT_FOUND;
  const auto connection = servers_.primary_connection();
  if (connection == nullptr) return PMIX_ERR_UNREACH;
  auto directives = data::Infos::copy_of(infos, ninfo);
  if (!directives) return data::to_status(directives.error());
  return ask_value(*connection, {proc, std::string(key), std::move(*directives)}, found);
}

void Tool::get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                     std::function<void(pmix_status_t, data::Value)> done) {
  auto shared = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, proc, key = std::move(key), shared, done = std::move(done)] {
    auto value = known_value(proc, key);
    if (value) return done(PMIX_SUCCESS, std::move(*value));
    const auto how = store::GetDirectives::parse(shared->data(), shared->size());
    if (!how) return done(PMIX_ERR_BAD_PARAM, {});
    if (how->optional) return done(PMIX_ERR_NOT_FOUND, {});
    const auto connection = servers_.primary_connection();
    if (connection == nullptr) return done(PMIX_ERR_UNREACH, {});
    request_value(*connection, {proc, key, std::move(*shared)}, done);
  });
}

Getter Tool::getter() {
  return [this](const pmix_proc_t& proc, std::string_view key, const data::Infos& infos, data::Value& found) {
    return get(proc, key, infos.data(), infos.size(), {}, found);
  };
}

pmix_status_t Tool::resolve_peers(std::string_view node, std::string_view nspace,
                                  std::vector<pmix_proc_t>& out) {
  return resolve_peers_by(getter(), node, nspace.empty() ? link::nspace_of(self_) : nspace, out);
}

pmix_status_t Tool::resolve_nodes(std::string_view nspace, std::string& out) {
  return resolve_nodes_by(getter(), nspace.empty() ? link::nspace_of(self_) : nspace, out);
}

// ---- events and queries

void Tool::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) {
  if (const auto events = servers_.primary_events())
    return events->subscribe(handler, std::move(codes), std::move(done));
  run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
}

void Tool::notify(events::Event event, Done done) {
  if (const auto events = servers_.primary_events()) return events->notify(std::move(event), std::move(done));
  run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
}

void Tool::query_later(link::Query query, Answered done) {
  const bool asks_for_servers = query.items.size() == 1 && query.items[0].keys.size() == 1 &&
                                query.items[0].keys[0] == PMIX_QUERY_AVAIL_SERVERS;
  const auto connection = servers_.primary_connection();
  if (!asks_for_servers && connection) return request_query(*connection, query, std::move(done));
  if (!asks_for_servers) return run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH, {}); });
  run_later([done = std::move(done)] {
    pmix_status_t why_not = PMIX_SUCCESS;
    const auto servers = visible_servers(why_not);
    if (servers.empty() && why_not != PMIX_ERR_UNREACH) return done(why_not, {});
    data::Infos list, out;
    for (const auto& [at, greeting] : servers) {
      data::Infos one;
      one.add(PMIX_SERVER_NSPACE, data::Value::of(link::nspace_of(greeting.server)));
      one.add(PMIX_SERVER_RANK, data::Value::of_rank(greeting.server.rank));
      one.add(PMIX_SERVER_PIDINFO, data::Value::of_pid(at.pid));
      auto value = store::array_of(one);
      if (!value) return done(PMIX_ERR_NOMEM, {});
      list.add(PMIX_SERVER_INFO_ARRAY, std::move(*value));
    }
    auto value = store::array_of(list);
    if (!value) return done(PMIX_ERR_NOMEM, {});
    out.add(PMIX_QUERY_AVAIL_SERVERS, std::move(*value));
    done(PMIX_SUCCESS, std::move(out));
  });
}

}  // namespace weft::client
