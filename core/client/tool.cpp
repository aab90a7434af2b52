// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool.hpp"

#include <unistd.h>

#include "base/host_name.hpp"
#include "core/client/request.hpp"
#include "core/data/status.hpp"

namespace weft::client {
namespace {

using link::MessageType;

/// Of a tool that is let in nowhere.
pmix_proc_t own_name(const pmix_proc_t& wanted) {
  if (wanted.nspace[0] != '\0') return wanted;
  return link::make_proc("tool." + base::host_name() + "." + std::to_string(::getpid()), 0);
}

struct Listed {
  link::ServerSocket at;
  Greeting greeting;
};

/// All that say their name. Without one: why the last that is there does not; PMIX_ERR_UNREACH: there is none.
std::vector<Listed> visible_servers(std::optional<pid_t> pid, pmix_status_t& why_not) {
  std::vector<Listed> out;
  why_not = PMIX_ERR_UNREACH;
  const auto sockets = link::servers_here();
  if (!sockets) return out;
  for (const auto& socket : *sockets) {
    if (pid && socket.pid != *pid) continue;
    auto greeting = look_at(socket.name, pid ? Chosen::by_name : Chosen::by_search);
    if (greeting.status == PMIX_SUCCESS)
      out.push_back({socket, std::move(greeting)});
    else if (greeting.status != PMIX_ERR_UNREACH)  // it ended just now
      why_not = greeting.status;
  }
  return out;
}

}  // namespace

Tool::Server::Server(const pmix_proc_t& server, base::Fd socket, Tool& tool)
    : name(server), events(connection, tool.handlers_), connection(std::move(socket)) {
  connection.on_push([this, &tool](const link::Frame& frame) { tool.on_push(*this, frame); });
  connection.on_lost([this, &tool] {
    tool.handlers_.deliver({PMIX_ERR_LOST_CONNECTION, name, PMIX_RANGE_PROC_LOCAL, {}});
  });
}

Tool::Tool(const pmix_proc_t& self)
    : self_(self), handlers_(events::Identity{self, {}}), idle_(std::make_shared<Connection>(base::Fd())) {}

Tool::~Tool() {
  stop();
}

void Tool::stop() {
  idle_->stop();
  if (const auto server = primary()) server->connection.stop();
}

// ---- servers

Greeting Tool::greet(const Wish& wish) {
  pmix_status_t why_not = PMIX_SUCCESS;
  const auto servers = visible_servers(wish.server, why_not);
  Greeting none;
  none.status = servers.size() > 1 ? PMIX_ERR_BAD_PARAM : why_not;
  if (servers.size() != 1) return none;
  const auto chosen = wish.server ? Chosen::by_name : Chosen::by_search;
  return enter(servers[0].at.name, chosen, wish.self, wish.version, patience);
}

Tool::Started Tool::start(const Wish& wish) {
  Greeting greeting;
  if (wish.connects) {
    greeting = greet(wish);
    if (greeting.status != PMIX_SUCCESS && !wish.is_optional) return {nullptr, greeting.status};
  }
  const bool is_connected = greeting.status == PMIX_SUCCESS;
  std::unique_ptr<Tool> tool(new Tool(is_connected ? greeting.self : own_name(wish.self)));
  if (is_connected) tool->add(std::move(greeting));
  return {std::move(tool), PMIX_SUCCESS};
}

void Tool::add(Greeting greeting) {
  auto server = std::make_shared<Server>(greeting.server, std::move(greeting.socket), *this);
  const std::lock_guard lock(mutex_);
  primary_ = std::move(server);
}

Tool::ServerRef Tool::primary() {
  const std::lock_guard lock(mutex_);
  return primary_;
}

std::shared_ptr<Connection> Tool::server_connection() {
  const auto server = primary();
  return server ? std::shared_ptr<Connection>(server, &server->connection) : nullptr;
}

bool Tool::is_connected() {
  const auto server = primary();
  return server && server->connection.alive();
}

void Tool::on_push(Server& from, const link::Frame& frame) {
  if (frame.type == MessageType::event) from.events.deliver(frame);
  if (frame.type == MessageType::output)
    if (const auto output = link::decode<link::Output>(frame.payload)) outputs_.deliver(*output);
}

// ---- the thread

std::shared_ptr<Connection> Tool::working_connection() {
  auto connection = server_connection();
  return connection ? connection : idle_;
}

pmix_status_t Tool::await(const std::function<void(Done)>& start) {
  return working_connection()->await_status(start, patience);
}

bool Tool::on_thread() {
  return working_connection()->on_thread();
}

void Tool::run_later(std::function<void()> task) {
  working_connection()->run_later(std::move(task));
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
  const auto connection = server_connection();
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
    const auto connection = server_connection();
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

void Tool::subscribe(std::vector<pmix_status_t> codes, Done done) {
  if (const auto server = primary()) return server->events.subscribe(std::move(codes), std::move(done));
  run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
}

void Tool::notify(events::Event event, Done done) {
  if (const auto server = primary()) return server->events.notify(std::move(event), std::move(done));
  run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
}

void Tool::query_later(link::Query query, Answered done) {
  const bool asks_for_servers = query.items.size() == 1 && query.items[0].keys.size() == 1 &&
                                query.items[0].keys[0] == PMIX_QUERY_AVAIL_SERVERS;
  const auto connection = server_connection();
  if (!asks_for_servers && connection) return request_query(*connection, query, std::move(done));
  if (!asks_for_servers) return run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH, {}); });
  run_later([done = std::move(done)] {
    pmix_status_t why_not = PMIX_SUCCESS;
    const auto servers = visible_servers(std::nullopt, why_not);
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
