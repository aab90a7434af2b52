// SPDX-License-Identifier: BSD-3-Clause
// Events: from a client to the others and to the host, from the host to the clients.
#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/events/event_wire.hpp"
#include "core/server/server.hpp"

namespace weft::server {
namespace {

data::Infos about(const pmix_proc_t& proc) {
  data::Infos infos;
  infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc));
  return infos;
}

}  // namespace

void Server::relay(const SessionRef& session, std::uint64_t tag, events::Event event) {
  spread(event, session.get());
  const auto beyond = event.range != PMIX_RANGE_LOCAL && event.range != PMIX_RANGE_PROC_LOCAL;
  auto held = std::make_shared<events::Event>(std::move(event));
  const auto reply = [this, session, tag, held](pmix_status_t status) { answer(session, tag, status); };
  if (!beyond || module_.notify_event == nullptr) {
    if (beyond && nodes_) relay_to_nodes(*held);
    if (auto copy = data::Infos::copy_of(held->infos.data(), held->infos.size()))
      events_->deliver({held->code, held->source, held->range, std::move(*copy)});
    return reply(PMIX_SUCCESS);
  }
  OpUpcall::make(upcalls_, reply, [&](void* open) {
    return module_.notify_event(held->code, &held->source, held->range, held->infos.data(),
                                held->infos.size(), on_op_done, open);
  });
}

/// To every client of this node that the range includes and that asked for such events.
void Server::spread(const events::Event& event, const Session* except) {
  std::vector<std::byte> payload;
  const auto* source_job = find_job(link::nspace_of(event.source));
  const bool source_here = source_job != nullptr && source_job->writer &&
                           source_job->view().local_index(event.source.rank) != store::none;
  for (const auto& session : sessions_) {
    if (session.get() == except || !session->greeted || session->job == nullptr || session->finalized)
      continue;
    const bool wanted = session->wants_all_events ||
                        std::find(session->wanted_events.begin(), session->wanted_events.end(), event.code) !=
                            session->wanted_events.end();
    if (!wanted || !events::is_addressed(event, {session->proc, source_here, true, false})) continue;
    if (payload.empty()) payload = encoded(event);
    session->send(link::MessageType::event, 0, payload);
  }
}

/// A client is gone without finalize. Those who registered for exactly this are told; default handlers are not,
/// because the host, which decides what becomes of the job, is about to tell them more.
void Server::announce_loss(const pmix_proc_t& proc) {
  events_->deliver({PMIX_ERR_LOST_CONNECTION, proc, PMIX_RANGE_PROC_LOCAL, about(proc)});
  announce_abort(proc);
}

/// To the clients of this node, wherever the process was.
void Server::announce_abort(const pmix_proc_t& proc) {
  tell_who_asked({PMIX_ERR_PROC_ABORTED, proc, PMIX_RANGE_LOCAL, about(proc)});
}

void Server::tell_who_asked(const events::Event& event) {
  const auto payload = encoded(event);
  for (const auto& session : sessions_)
    if (session->greeted && session->job != nullptr && !session->finalized &&
        std::find(session->wanted_events.begin(), session->wanted_events.end(), event.code) !=
            session->wanted_events.end())
      session->send(link::MessageType::event, 0, payload);
}

void Server::notify(events::Event event, Done done) {
  auto held = std::make_shared<events::Event>(std::move(event));
  run_later([this, held, done = std::move(done)] {
    if (names_servers(*held)) return notify_servers(held, done);
    spread(*held, nullptr);
    done(PMIX_SUCCESS);
  });
}

}  // namespace weft::server
