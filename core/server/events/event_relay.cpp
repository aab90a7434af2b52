// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/events/event_relay.hpp"

#include <algorithm>
#include <set>

#include "base/log_format.hpp"
#include "core/events/range.hpp"
#include "core/link/messages.hpp"
#include "core/server/events/event_wire.hpp"
#include "core/store/get/lookup.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

/// Ends an operation of several parts, when as many of them have ended as it was made for: with the worst
/// status.
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

bool goes_beyond_node(pmix_data_range_t range) {
  return range != PMIX_RANGE_LOCAL && range != PMIX_RANGE_PROC_LOCAL && range != PMIX_RANGE_RM;
}

/// A host's own messages may have no PMIX_TIME (Open MPI 4.1.4's have none, and it complains): it gets no
/// stamp that no process asked for, and the servers that it relays to add theirs.
void leave_stamp_out(events::Event& event) {
  event.infos.remove(PMIX_EVENT_TIMESTAMP);
}

constexpr std::size_t most_codes_of_a_client = 4096;

}  // namespace

EventRelay::EventRelay(Loop& loop, const pmix_proc_t& self, Jobs& jobs, const Tools& tools, Host& host,
                       Cluster& cluster, events::Registry& registry, bool host_tells_ends)
    : loop_(loop),
      self_(self),
      jobs_(jobs),
      tools_(tools),
      host_(host),
      cluster_(cluster),
      registry_(registry),
      host_tells_ends_(host_tells_ends) {
  cluster_.on(RequestType::event, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    deliver_from_server(from, body, reply);
  });
  cluster_.on(RequestType::relay, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    if (!tree_->receive(body, [reply] { reply(PMIX_SUCCESS, {}); })) reply(PMIX_ERR_BAD_PARAM, {});
  });
  cluster_.when_open([this] { tree_ = tree_of_cluster(); });
}

std::unique_ptr<TreeRelay> EventRelay::tree_of_cluster() {
  return std::make_unique<TreeRelay>(
      cluster_.self(), cluster_.servers().count(), cluster_.servers().incarnation(),
      [this](NodeNumber node) { return cluster_.servers().is_there(node); },
      [this](NodeNumber to, std::vector<std::byte> message, TreeRelay::Sent sent) {
        cluster_.send(
            to, RequestType::relay, std::move(message),
            [sent = std::move(sent)](pmix_status_t status, Bytes) { sent(status == PMIX_SUCCESS); });
      },
      [this](Bytes body) { take_from_node(body); });
}

/// An event that came to another node's server first.
void EventRelay::take_from_node(Bytes body) {
  auto event = decoded_event(body);
  if (!event || !events::is_range(event->range)) return;
  spread(*event, nullptr);
  tell_host(std::move(*event));
}

Result<EventWishes> EventRelay::subscribe(ClientConnection& connection,
                                          const std::vector<pmix_status_t>& codes) {
  auto& subscription = connection.subscription;
  const auto& wishes = subscription.wishes();
  EventWishes added;
  added.all = codes.empty() && !wishes.all;
  for (const auto code : codes)
    if (!holds(wishes.codes, code) && !holds(added.codes, code)) added.codes.push_back(code);
  if (wishes.codes.size() + added.codes.size() > most_codes_of_a_client)
    return fail(Errc::no_space, "a client names too many codes of events");
  sent_.each([&](std::uint64_t number, const Sent& sent) {
    const bool is_asked_for =
        (added.all && sent.kind.is_for_default_handlers) || holds(added.codes, sent.kind.code);
    if (!is_asked_for || subscription.has_been_sent(number, sent.kind)) return;
    const auto event = decoded_event(sent.message);
    if (!event || link::is_same(event->source, connection.proc)) return;  // its library has its own events
    if (events::is_addressed(*event, {connection.proc, sent.is_from_here, true, false}))
      connection.send_event(sent.message);
  });
  subscription.add(added);
  return added;
}

EventWishes EventRelay::unsubscribe(ClientConnection& connection, const EventWishes& wishes) {
  std::vector<pmix_status_t> kept;
  std::uint64_t first = sent_.last();
  sent_.each([&](std::uint64_t number, const Sent& sent) {
    first = std::min(first, number);
    kept.push_back(sent.kind.code);
  });
  return connection.subscription.remove(wishes, kept, first, sent_.last());
}

void EventRelay::forget(std::string_view nspace) {
  sent_.erase_if([&](const Sent& sent) {
    const auto event = decoded_event(sent.message);
    return !event || events::concerns(*event, nspace);
  });
}

void EventRelay::relay(const ConnectionRef& from, std::uint64_t tag, events::Event event) {
  // Those of PMIX_RANGE_PROC_LOCAL stay in their process.
  if (!events::is_range(event.range) || event.range == PMIX_RANGE_PROC_LOCAL)
    return from->reply(tag, PMIX_ERR_BAD_PARAM);
  event.source = from->proc;  // whatever the client says
  raise(std::move(event), from.get(), [from, tag](pmix_status_t status) { from->reply(tag, status); });
}

/// A host that has stopped processes lets them go on: it hears of each release, for whichever they are.
void EventRelay::tell_host(events::Event event) {
  const auto* const range = event.infos.find(PMIX_EVENT_CUSTOM_RANGE);
  if (event.code == PMIX_DEBUGGER_RELEASE && range != nullptr) {
    auto procs = data::Value::copy_of(range->value);
    if (!procs) return;
    event.infos.remove(PMIX_EVENT_CUSTOM_RANGE);
    event.infos.add(PMIX_EVENT_AFFECTED_PROCS, std::move(*procs));
    event.range = PMIX_RANGE_RM;
  }
  registry_.deliver(std::move(event));
}

void EventRelay::raise(events::Event event) {
  raise(std::move(event), nullptr, [](pmix_status_t) {});
}

void EventRelay::raise(events::Event event, const ClientConnection* except, Done taken) {
  const bool is_stamped = event.infos.find(PMIX_EVENT_TIMESTAMP) != nullptr;
  events::stamp(event);
  spread(event, except);
  const bool is_beyond = goes_beyond_node(event.range);
  if ((is_beyond || event.range == PMIX_RANGE_RM) && host_takes_events()) {
    if (!is_stamped) leave_stamp_out(event);
    return host_.notify(std::move(event), std::move(taken));
  }
  auto body = is_beyond && tree_ ? encoded(event) : std::vector<std::byte>();
  tell_host(std::move(event));
  if (body.empty()) return taken(PMIX_SUCCESS);
  tree_->spread(std::move(body), [taken = std::move(taken)] { taken(PMIX_SUCCESS); });
}

void EventRelay::notify(events::Event event, Done done) {
  if (names_servers(event)) return notify_servers(event, std::move(done));
  events::stamp(event);
  spread(event, nullptr);
  // A host that takes events relays them to the servers of other nodes itself.
  if (goes_beyond_node(event.range) && tree_ && !host_takes_events()) tree_->spread(encoded(event), nullptr);
  tell_host(std::move(event));
  done(PMIX_SUCCESS);
}

/// Raised by a process of this node, by this server, or by the system that its host stands for.
bool EventRelay::is_from_here(const events::Event& event) const {
  if (events::name_of(event.source).empty() || events::covers(event.source, self_)) return true;
  if (tools_.find(event.source) != nullptr) return true;
  const auto* job = jobs_.find(link::nspace_of(event.source));
  return job != nullptr && job->view().local_index(event.source.rank) != store::none;
}

/// To every client and tool of this server that the range includes and that has subscribed to such events,
/// now or later.
void EventRelay::spread(const events::Event& event, const ClientConnection* except) {
  if (event.range == PMIX_RANGE_RM) return;
  base::debug(base::LogPart::events, "event {} of rank {} of {}, range {}", event.code, event.source.rank,
              link::nspace_of(event.source), event.range);
  Sent sent{{event.code, events::is_for_default_handlers(event)}, is_from_here(event), encoded(event)};
  const auto send_to = [&](ClientConnection& to) {
    if (&to == except || to.finalized || !to.subscription.wants(sent.kind)) return;
    if (events::is_addressed(event, {to.proc, sent.is_from_here, true, false})) to.send_event(sent.message);
  };
  jobs_.each([&](const Job& job) {
    for (const auto& [local, connection] : job.connections) send_to(*connection);
  });
  for (const auto& tool : tools_) send_to(*tool);
  const auto bytes = sizeof(Sent) + sent.message.size();
  if (events::may_be_cached(event)) sent_.add(std::move(sent), bytes);
}

// ---- what this server sees itself

/// An event that a server raises for a process.
events::Event EventRelay::event_about(pmix_status_t code, const pmix_proc_t& proc, NodeNumber server,
                                      Defaults defaults) const {
  events::Event event{code, proc, PMIX_RANGE_GLOBAL, {}};
  event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc));
  event.infos.add(PMIX_EVENT_PROXY, data::Value::of_proc(link::make_proc(link::nspace_of(self_), server)));
  if (defaults == Defaults::left_out) event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(event);
  return event;
}

/// A host that relays events, or has said that the job ends with its first process, is about to tell or to
/// end the others: what they do by themselves must not come first (docs/design/events.md).
bool EventRelay::host_decides(const pmix_proc_t& proc) const {
  if (host_takes_events()) return true;
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (job == nullptr) return false;
  const auto said = store::lookup(job->view(), PMIX_RANK_WILDCARD, PMIX_JOB_RECOVERABLE, {}, {});
  return said && data::truth(said->get()) == PMIX_BOOL_FALSE;
}

void EventRelay::announce_loss(const pmix_proc_t& proc) {
  // Without a handler it is said at once; a handler may take its time.
  const auto host_has_heard = std::make_shared<bool>(true);
  registry_.deliver(event_about(PMIX_ERR_LOST_CONNECTION, proc, self_.rank, Defaults::told),
                    [host_has_heard](const events::End& end) {
                      *host_has_heard = end.outcome != events::Outcome::no_handler;
                    });
  const bool is_left_to_host = *host_has_heard || host_decides(proc);
  announce(proc, self_.rank, is_left_to_host ? Defaults::left_out : Defaults::told);
  hand_to_host(proc);
}

/// For the other nodes, whose servers see nothing of it unless this one reaches them. Not within the call
/// that has lost the process: the
/// host may call the server in its upcall.
void EventRelay::hand_to_host(const pmix_proc_t& proc) {
  if (!host_takes_events() || cluster_.is_open()) return;
  for (const auto code : {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC}) {
    const auto event =
        std::make_shared<events::Event>(event_about(code, proc, self_.rank, Defaults::left_out));
    event->infos.add(PMIX_PROC_TERM_STATUS, data::Value::of_status(PMIX_ERR_PROC_TERM_WO_SYNC));
    leave_stamp_out(*event);
    loop_.post([this, event] { host_.notify(std::move(*event), [](pmix_status_t) {}); });
  }
}

void EventRelay::announce_death(const pmix_proc_t& proc, NodeNumber server) {
  announce(proc, server, host_decides(proc) ? Defaults::left_out : Defaults::told);
}

/// defaults: of the clients.
void EventRelay::announce(const pmix_proc_t& proc, NodeNumber server, Defaults defaults) {
  const auto raise = [&](pmix_status_t code, Defaults who) {
    auto event = event_about(code, proc, server, who);
    event.infos.add(PMIX_PROC_TERM_STATUS, data::Value::of_status(PMIX_ERR_PROC_TERM_WO_SYNC));
    spread(event, nullptr);
    // The host's default handlers have heard that the connection is lost.
    if (who == Defaults::told) event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
    registry_.deliver(std::move(event));
  };
  raise(PMIX_ERR_PROC_ABORTED, defaults);
  raise(PMIX_ERR_PROC_TERM_WO_SYNC, Defaults::left_out);
  if (!host_tells_ends_) raise(PMIX_EVENT_PROC_TERMINATED, Defaults::left_out);
}

void EventRelay::announce_lost_names(const pmix_proc_t& server) {
  events::Event event{WEFT_NAMES_LOST, self_, PMIX_RANGE_PROC_LOCAL, {}};
  event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(server));
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(event);
  registry_.deliver(std::move(event));
}

void EventRelay::announce_lost_node(NodeNumber node, const std::string& host_name, const std::string& why) {
  const auto lost = [&] {
    events::Event event{PMIX_EVENT_NODE_DOWN,
                        link::make_proc(link::nspace_of(self_), node),
                        PMIX_RANGE_GLOBAL,
                        {},
                        self_.rank};
    event.infos.add(PMIX_NODEID, data::Value::of(static_cast<std::uint32_t>(node)));
    event.infos.add(PMIX_HOSTNAME, data::Value::of(std::string_view(host_name)));
    event.infos.add(PMIX_EVENT_TEXT_MESSAGE, data::Value::of(std::string_view(why)));
    event.infos.add(PMIX_EVENT_PROXY, data::Value::of_proc(self_));
    events::stamp(event);
    return event;
  };
  auto for_clients = lost();
  for_clients.infos.add(PMIX_EVENT_NON_DEFAULT,
                        data::Value::of(true));  // of the environment: for those that name it
  spread(for_clients, nullptr);
  registry_.deliver(lost(), [host_name, why](const events::End& end) {
    // A handler of the host says what the loss means for the job; without one it is news.
    const bool is_news = end.outcome == events::Outcome::no_handler;
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
    for (const auto node : cluster_.servers().others()) to.insert(node);
  }
  const auto tally = std::make_shared<Tally>(to.size(), std::move(done));
  const auto body = encoded(event);
  const auto on_reply = [tally](pmix_status_t status, Bytes) { tally->add(status); };
  for (const auto node : to) {
    if (node == self_.rank)
      deliver_from_server(node, body, on_reply);
    else if (node < cluster_.servers().count())
      cluster_.send(node, RequestType::event, body, on_reply);
    else
      tally->add(PMIX_ERR_UNREACH);
  }
}

/// An event of a server's host for this one. The reply waits until the host's handlers have had it; a handler
/// that ends with an error refuses it.
///   from  the server, as the mesh knows it
void EventRelay::deliver_from_server(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  auto event = decoded_event(body);
  if (!event) return reply(PMIX_ERR_BAD_PARAM, {});
  event->server = from;
  // A handler may end on a thread of its own.
  registry_.deliver(std::move(*event), [this, reply](const events::End& end) {
    if (end.outcome != events::Outcome::closed)
      loop_.post([reply, verdict = end.verdict] { reply(verdict, {}); });
  });
}

}  // namespace weft::server
