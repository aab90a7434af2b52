// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool/tool_servers.hpp"

#include <algorithm>

#include "core/link/proc_set.hpp"

namespace weft::client {

using link::MessageType;

ToolServers::Server::Server(FoundServer found, ToolServers& of)
    : known{std::move(found.socket), found.greeting.server},
      events(connection, *of.handlers_),
      connection(std::move(found.greeting.socket)) {
  connection.on_push([this, &of](const link::Frame& frame) { of.on_push(*this, frame); });
  connection.on_lost([this, &of] {
    if (!is_left) of.handlers_->deliver({PMIX_ERR_LOST_CONNECTION, known.name, PMIX_RANGE_PROC_LOCAL, {}});
  });
}

ToolServers::ToolServers(const pmix_proc_t& self, std::string version, Outputs& outputs)
    : self_(self),
      version_(std::move(version)),
      outputs_(outputs),
      idle_(std::make_shared<Connection>(base::Fd())),
      handlers_(std::make_shared<events::Registry>(events::Identity{self, {}})) {
  const auto run_later = [this](std::function<void()> task) {
    working_connection()->run_later(std::move(task));
  };
  handlers_->on_removed(
      [this, run_later](std::size_t handler) { run_later([this, handler] { unsubscribe(handler); }); });
  handlers_->run_later_by(run_later);
}

pmix_status_t ToolServers::attach(const ServerWish& wish, pmix_proc_t& server) {
  free_left_servers();
  const std::lock_guard attaching(attaching_);
  auto found = find_server(wish, {self_, version_, known_servers()});
  if (found.greeting.status != PMIX_SUCCESS) return found.greeting.status;
  const auto name = found.greeting.server;
  if (!found.is_known) {
    // The name of a tool is one at all its servers.
    if (!link::is_same(found.greeting.self, self_)) return PMIX_ERR_EXISTS;
    add(std::move(found), wish.becomes_primary);
  } else if (wish.becomes_primary) {
    (void)set_primary(name, false, {});
  }
  server = name;
  return PMIX_SUCCESS;
}

void ToolServers::add(FoundServer found, bool becomes_primary) {
  const auto server = std::make_shared<Server>(std::move(found), *this);
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return server->connection.stop();
    if (is_driven_by_calls_) server->connection.stop_thread(false);
    if (becomes_primary || servers_.empty()) primary_ = server;
    servers_.push_back(server);
  }
  changed_.notify_all();
}

/// Hangs up on servers that have gone: they are candidates again.
std::vector<KnownServer> ToolServers::known_servers() {
  const std::lock_guard lock(mutex_);
  const auto all = servers_;
  for (const auto& server : all)
    if (!server->connection.alive()) leave_locked(server);
  std::vector<KnownServer> out;
  for (const auto& server : servers_) out.push_back(server->known);
  return out;
}

ToolServers::ServerRef ToolServers::find_locked(const pmix_proc_t& server) {
  const auto found = std::find_if(servers_.begin(), servers_.end(), [&](const ServerRef& each) {
    return link::is_same(each->known.name, server);
  });
  return found == servers_.end() ? nullptr : *found;
}

void ToolServers::leave_locked(const ServerRef& server) {
  left_.push_back(server);
  std::erase(servers_, server);
  if (primary_ == server) primary_.reset();
}

pmix_status_t ToolServers::disconnect(const pmix_proc_t& server) {
  {
    const std::lock_guard lock(mutex_);
    const auto open = find_locked(server);
    if (open == nullptr) return PMIX_ERR_NOT_FOUND;
    open->is_left = true;
    leave_locked(open);
    open->connection.hang_up();
  }
  free_left_servers();
  return PMIX_SUCCESS;
}

/// Frees servers that no call uses, outside the lock: their threads may be in callbacks, which may call this
/// tool.
/// The caller's own thread stays until another call comes.
void ToolServers::free_left_servers() {
  std::vector<ServerRef> unused;  // before the lock, and so freed after it
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [&](ServerRef& server) {
    if (server.use_count() != 1 || server->connection.on_thread()) return false;
    unused.push_back(std::move(server));
    return true;
  });
}

pmix_status_t ToolServers::set_primary(const pmix_proc_t& server, bool waits, data::Timeout timeout) {
  const auto deadline = data::deadline_after(timeout);
  std::unique_lock lock(mutex_);
  const auto has_come = [&] { return is_stopped_ || find_locked(server) != nullptr; };
  if (waits && !deadline) changed_.wait(lock, has_come);
  if (waits && deadline && !changed_.wait_until(lock, *deadline, has_come)) return PMIX_ERR_TIMEOUT;
  if (is_stopped_) return PMIX_ERR_INIT;
  auto found = find_locked(server);
  if (found == nullptr) return PMIX_ERR_NOT_FOUND;
  primary_ = std::move(found);
  return PMIX_SUCCESS;
}

std::vector<pmix_proc_t> ToolServers::names() {
  const std::lock_guard lock(mutex_);
  std::vector<pmix_proc_t> out;
  if (primary_ && primary_->connection.alive()) out.push_back(primary_->known.name);
  for (const auto& server : servers_)
    if (server != primary_ && server->connection.alive()) out.push_back(server->known.name);
  return out;
}

ToolServers::ServerRef ToolServers::primary() {
  const std::lock_guard lock(mutex_);
  return primary_;
}

std::optional<pmix_proc_t> ToolServers::primary_name() {
  const auto server = primary();
  return server ? std::optional(server->known.name) : std::nullopt;
}

std::shared_ptr<Connection> ToolServers::primary_connection() {
  const auto server = primary();
  return server ? std::shared_ptr<Connection>(server, &server->connection) : nullptr;
}

bool ToolServers::is_connected() {
  const std::lock_guard lock(mutex_);
  return std::any_of(servers_.begin(), servers_.end(),
                     [](const ServerRef& server) { return server->connection.alive(); });
}

// ---- their connections

std::shared_ptr<ServerEvents> ToolServers::primary_events() {
  const auto server = primary();
  return server ? std::shared_ptr<ServerEvents>(server, &server->events) : nullptr;
}

std::shared_ptr<Connection> ToolServers::working_connection() {
  auto connection = primary_connection();
  return connection ? connection : idle_;
}

void ToolServers::stop() {
  std::vector<std::shared_ptr<Connection>> all;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    all = connections_locked();
  }
  changed_.notify_all();
  for (const auto& connection : all) connection->stop();
}

std::vector<std::shared_ptr<Connection>> ToolServers::connections_locked() {
  std::vector<std::shared_ptr<Connection>> out{idle_};
  for (const auto* servers : {&servers_, &left_})
    for (const auto& server : *servers) out.emplace_back(server, &server->connection);
  return out;
}

std::vector<std::shared_ptr<Connection>> ToolServers::connections() {
  const std::lock_guard lock(mutex_);
  return connections_locked();
}

void ToolServers::stop_thread(bool flushes) {
  std::vector<std::shared_ptr<Connection>> all;
  {
    const std::lock_guard lock(mutex_);
    is_driven_by_calls_ = true;
    all = connections_locked();
  }
  for (const auto& connection : all) connection->stop_thread(flushes);
}

void ToolServers::progress() {
  for (const auto& connection : connections()) connection->progress();
}

void ToolServers::on_push(Server& from, const link::Frame& frame) {
  if (frame.type == MessageType::event) from.events.deliver(frame);
  if (frame.type == MessageType::output)
    if (auto output = link::decode<link::Output>(frame.payload)) outputs_.deliver(std::move(*output));
}

/// At the server that was the primary when it subscribed.
void ToolServers::unsubscribe(std::size_t handler) {
  std::vector<ServerRef> all;
  {
    const std::lock_guard lock(mutex_);
    all = servers_;
  }
  for (const auto& server : all) server->events.unsubscribe(handler);
}

}  // namespace weft::client
