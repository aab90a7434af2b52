// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/events/event_relay.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <set>

#include "base/log_format.hpp"
#include "core/events/range.hpp"
#include "core/link/messages.hpp"
#include "core/server/events/event_wire.hpp"

namespace weft::server {
namespace {

/// Ends an operation of several parts, when as many of them have ended as it was made for: with the worst status.
class Tally {
 public:
  Tally(std::size_t number, Done done) : left_(number), done_(std::move(done)) {}
  void add(pmix_status_t status) {
    if (status != PMIX_SUCCESS) worst_ = status;
    if (--left_ == 0) done_(worst_);
  }

 private:
  std::size_t left_;
  Done done_;
  pmix_status_t worst_ = PMIX_SUCCESS;
};

Procs named_by(const events::Event& event) {
  const auto* range = event.infos.find(PMIX_EVENT_CUSTOM_RANGE);
  auto procs = range == nullptr ? fail(Errc::not_found) : events::procs_in(range->value);
  return procs ? std::move(*procs) : Procs();
}

data::Infos about(const pmix_proc_t& proc) {
  data::Infos infos;
  infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc));
  return infos;
}

bool has_subscribed(const ClientConnection& connection, pmix_status_t code) {
  return std::find(connection.wanted_events.begin(), connection.wanted_events.end(), code) !=
         connection.wanted_events.end();
}

}  // namespace

EventRelay::EventRelay(asio::io_context& loop, const pmix_proc_t& self, Jobs& jobs, Host& host,
                       Cluster* cluster, events::Registry& registry)
    : loop_(loop), self_(self), jobs_(jobs), host_(host), cluster_(cluster), registry_(registry) {
  if (cluster_ == nullptr) return;
  auto& rpc = cluster_->rpc();
  rpc.on(RequestType::event, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    deliver_from_server(from, body, reply);
  });
  rpc.on(RequestType::relay, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    auto event = decoded_event(body);
    if (!event) return reply(PMIX_ERR_BAD_PARAM, {});
    spread(*event, nullptr);
    registry_.deliver(std::move(*event));
    reply(PMIX_SUCCESS, {});
  });
}

void EventRelay::subscribe(ClientConnection& connection, const std::vector<pmix_status_t>& codes) {
  connection.wants_all_events |= codes.empty();
  connection.wanted_events.insert(connection.wanted_events.end(), codes.begin(), codes.end());
}

void EventRelay::relay(const ConnectionRef& from, std::uint64_t tag, events::Event event) {
  event.source = from->proc;  // whatever the client says
  spread(event, from.get());
  const auto beyond = event.range != PMIX_RANGE_LOCAL && event.range != PMIX_RANGE_PROC_LOCAL;
  if (beyond && host_.takes_events())
    return host_.notify(std::move(event), [from, tag](pmix_status_t status) { from->reply(tag, status); });
  if (beyond && cluster_ != nullptr) relay_to_nodes(event);
  registry_.deliver(std::move(event));
  from->reply(tag, PMIX_SUCCESS);
}

void EventRelay::notify(events::Event event, Done done) {
  if (names_servers(event)) return notify_servers(event, std::move(done));
  spread(event, nullptr);
  done(PMIX_SUCCESS);
}

/// To every client of this node that the range includes and that has subscribed to such events.
void EventRelay::spread(const events::Event& event, const ClientConnection* except) {
  base::debug(base::LogPart::events, "event {} of rank {} of {}, range {}", event.code, event.source.rank,
              link::nspace_of(event.source), event.range);
  std::vector<std::byte> payload;
  const auto* source_job = jobs_.find(link::nspace_of(event.source));
  const bool is_source_here =
      source_job != nullptr && source_job->view().local_index(event.source.rank) != store::none;
  jobs_.each([&](const Job& job) {
    for (const auto& [local, connection] : job.connections) {
      if (connection.get() == except || connection->finalized) continue;
      if (!connection->wants_all_events && !has_subscribed(*connection, event.code)) continue;
      if (!events::is_addressed(event, {connection->proc, is_source_here, true, false})) continue;
      if (payload.empty()) payload = encoded(event);
      connection->send_event(payload);
    }
  });
}

void EventRelay::send_to_subscribers(const events::Event& event) {
  const auto payload = encoded(event);
  jobs_.each([&](const Job& job) {
    for (const auto& [local, connection] : job.connections)
      if (!connection->finalized && has_subscribed(*connection, event.code)) connection->send_event(payload);
  });
}

void EventRelay::announce_loss(const pmix_proc_t& proc) {
  registry_.deliver({PMIX_ERR_LOST_CONNECTION, proc, PMIX_RANGE_PROC_LOCAL, about(proc)});
  announce_death(proc);
}

void EventRelay::announce_death(const pmix_proc_t& proc) {
  send_to_subscribers({PMIX_ERR_PROC_ABORTED, proc, PMIX_RANGE_LOCAL, about(proc)});
}

void EventRelay::announce_lost_node(NodeNumber node, const std::string& host_name, const std::string& why) {
  const auto about_node = [&] {
    data::Infos infos;
    infos.add(PMIX_NODEID, data::Value::of(static_cast<std::uint32_t>(node)));
    infos.add(PMIX_HOSTNAME, data::Value::of(std::string_view(host_name)));
    infos.add(PMIX_EVENT_TEXT_MESSAGE, data::Value::of(std::string_view(why)));
    return infos;
  };
  const auto source = link::make_proc(link::nspace_of(self_), node);
  send_to_subscribers({PMIX_EVENT_NODE_DOWN, source, PMIX_RANGE_LOCAL, about_node()});
  registry_.deliver({PMIX_EVENT_NODE_DOWN, source, PMIX_RANGE_LOCAL, about_node(), self_.rank},
                    [host_name, why](events::Outcome outcome) {
                      // Else the host says what it means for the job.
                      const bool is_news = outcome == events::Outcome::no_handler;
                      base::log(is_news ? base::LogLevel::warn : base::LogLevel::info, base::LogPart::mesh,
                                "node {} is lost: {}", host_name, why);
                    });
}

// ---- from server to server

/// A custom range that names servers of this cluster.
bool EventRelay::names_servers(const events::Event& event) const {
  if (event.range != PMIX_RANGE_CUSTOM) return false;
  const auto procs = named_by(event);
  return !procs.empty() && std::all_of(procs.begin(), procs.end(), [&](const pmix_proc_t& proc) {
    return link::nspace_of(proc) == link::nspace_of(self_);
  });
}

void EventRelay::notify_servers(const events::Event& event, Done done) {
  std::set<NodeNumber> to;
  for (const auto& proc : named_by(event)) {
    if (proc.rank != PMIX_RANK_WILDCARD) {
      to.insert(proc.rank);
      continue;
    }
    to.insert(self_.rank);
    if (cluster_ != nullptr)
      for (const auto node : cluster_->others()) to.insert(node);
  }
  const auto tally = std::make_shared<Tally>(to.size(), std::move(done));
  const auto body = encoded(event);
  const auto on_reply = [tally](pmix_status_t status, Bytes) { tally->add(status); };
  for (const auto node : to) {
    if (node == self_.rank)
      deliver_from_server(node, body, on_reply);
    else if (cluster_ != nullptr && node < cluster_->count())
      cluster_->rpc().send(node, RequestType::event, body, on_reply);
    else
      tally->add(PMIX_ERR_UNREACH);
  }
}

/// An event of a server's host for this one. The reply waits until the host's handlers have had it.
///   from  the server, as the mesh knows it
void EventRelay::deliver_from_server(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  auto event = decoded_event(body);
  if (!event) return reply(PMIX_ERR_BAD_PARAM, {});
  event->server = from;
  // A handler may end on a thread of its own.
  registry_.deliver(std::move(*event), [this, reply](events::Outcome outcome) {
    if (outcome != events::Outcome::closed) asio::post(loop_, [reply] { reply(PMIX_SUCCESS, {}); });
  });
}

/// An event of a local client that clients of other nodes may want, which the host does not relay.
void EventRelay::relay_to_nodes(const events::Event& event) {
  const auto body = encoded(event);
  for (const auto node : cluster_->others()) cluster_->rpc().send(node, RequestType::relay, body, nullptr);
}

}  // namespace weft::server
