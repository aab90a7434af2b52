// SPDX-License-Identifier: BSD-3-Clause
// The server's part in a session of several nodes: where it is, events from server to server, nodes that are lost.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/events/range.hpp"
#include "core/server/events/event_wire.hpp"
#include "core/server/server.hpp"

namespace weft::server {
namespace {

/// Answers once, when as many as it was made for have said how it went: the worst of it.
class Tally {
 public:
  Tally(std::size_t number, Server::Done done) : left_(number), done_(std::move(done)) {}
  void one(pmix_status_t status) {
    if (status != PMIX_SUCCESS) worst_ = status;
    if (--left_ == 0) done_(worst_);
  }

 private:
  std::size_t left_;
  Server::Done done_;
  pmix_status_t worst_ = PMIX_SUCCESS;
};

Procs named_by(const events::Event& event) {
  const auto* range = event.infos.find(PMIX_EVENT_CUSTOM_RANGE);
  auto procs = range == nullptr ? fail(Errc::not_found) : events::procs_in(range->value);
  return procs ? std::move(*procs) : Procs();
}

}  // namespace

// ---- where everybody is

void Server::collect_inventory(std::function<void(data::Infos)> done) {
  run_later([this, done = std::move(done)] {
    data::Infos out;
    if (nodes_) {
      out.add(SessionSpec::contact_attribute, data::Value::of_bytes(nodes_->contact()));
      out.add(SessionSpec::transport_attribute, data::Value::of(std::string_view(nodes_->transport())));
    }
    done(std::move(out));
  });
}

void Server::deliver_inventory(data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, held, done = std::move(done)] {
    for (std::size_t i = 0; i < held->size(); ++i) {
      const auto& info = held->data()[i];
      if (info.key != std::string_view(SessionSpec::contact_attribute)) continue;
      const auto& object = info.value.data.bo;
      if (info.value.type != PMIX_BYTE_OBJECT || (object.bytes == nullptr && object.size != 0))
        return done(PMIX_ERR_BAD_PARAM);
      if (!nodes_) return done(PMIX_ERR_NOT_SUPPORTED);
      const auto entered = nodes_->enter({reinterpret_cast<const std::byte*>(object.bytes), object.size});
      if (entered) continue;
      std::fprintf(stderr, "weft: [%s] a contact of another server was refused: %s\n", host_.c_str(),
                   entered.error().what);
      return done(PMIX_ERR_BAD_PARAM);
    }
    done(PMIX_SUCCESS);
  });
}

// ---- events

void Server::meet_nodes() {
  node_fences_ = std::make_unique<NodeFences>(
      loop_, *nodes_, host_, stuck_after_,
      NodeFences::Hooks{
          [this](const Procs& procs) { return nodes_of(procs); },
          [this](const Procs& procs, std::uint64_t ahead) { return local_part(procs, ahead); },
          [this](const Procs& procs, pmix_status_t why) { give_up(procs, why); },
          [](const std::string& text) { (void)!std::fwrite(text.data(), 1, text.size(), stderr); },
          [this](const pmix_proc_t& proc) { announce_abort(proc); }});
  modex_ = std::make_unique<Modex>(
      *nodes_, Modex::Hooks{[this](const pmix_proc_t& proc) {
                              const auto* job = find_job(link::nspace_of(proc));
                              return job != nullptr && job->writer ? job->view().remote_known(proc.rank) : 0;
                            },
                            [this](const store::Card& card) { return take_card(card); },
                            [this](Bytes blobs) { return take_blobs(blobs); },
                            [this](const pmix_proc_t& proc, std::function<void(pmix_status_t, Blob)> done) {
                              serve_card(proc, std::move(done));
                            },
                            [this](std::string_view nspace) {
                              const auto* job = find_job(nspace);
                              return job != nullptr && job->writer;
                            }});
  auto& letters = nodes_->letters();
  letters.on(Subject::event, [this](NodeNumber, Bytes body, const Letters::Answer& answer) {
    deliver_from_server(body, answer);
  });
  letters.on(Subject::report, [this](NodeNumber, Bytes body, const Letters::Answer& answer) {
    Survey::answer(survey_hooks(), body, answer);
  });
  letters.on(Subject::relay, [this](NodeNumber, Bytes body, const Letters::Answer& answer) {
    auto event = decoded_event(body);
    if (!event) return answer(PMIX_ERR_BAD_PARAM, {});
    spread(*event, nullptr);
    events_->deliver(std::move(*event));
    answer(PMIX_SUCCESS, {});
  });
}

bool Server::turn_nodes() {
  bool happened = nodes_->turn();
  happened |= modex_->progress() != 0;
  return happened;
}

void Server::leave_nodes() {
  if (!nodes_) return;
  nodes_->say_goodbye();
  nodes_->stop();
  modex_.reset();  // its memory is not read or written any more; the endpoint that knows it is still there
  nodes_.reset();
  node_fences_.reset();  // was told what became of its open ones
}

/// A custom range that names servers of this session.
bool Server::names_servers(const events::Event& event) const {
  if (event.range != PMIX_RANGE_CUSTOM) return false;
  const auto procs = named_by(event);
  return !procs.empty() && std::all_of(procs.begin(), procs.end(), [&](const pmix_proc_t& proc) {
    return link::nspace_of(proc) == link::nspace_of(self_);
  });
}

void Server::notify_servers(std::shared_ptr<events::Event> event, Done done) {
  std::set<NodeNumber> to;
  for (const auto& proc : named_by(*event)) {
    if (proc.rank != PMIX_RANK_WILDCARD) {
      to.insert(proc.rank);
      continue;
    }
    to.insert(self_.rank);
    if (nodes_)
      for (const auto node : nodes_->others()) to.insert(node);
  }
  const auto tally = std::make_shared<Tally>(to.size(), std::move(done));
  const auto body = encoded(*event);
  for (const auto node : to) {
    if (node == self_.rank)
      deliver_from_server(body, [tally](pmix_status_t status, Bytes) { tally->one(status); });
    else if (nodes_ && node < nodes_->count())
      nodes_->letters().send(node, Subject::event, body,
                             [tally](pmix_status_t status, Bytes) { tally->one(status); });
    else
      tally->one(PMIX_ERR_UNREACH);
  }
}

/// An event of another host for ours. The answer waits until our handlers have had it.
void Server::deliver_from_server(Bytes body, const Letters::Answer& answer) {
  auto event = decoded_event(body);
  if (!event) return answer(PMIX_ERR_BAD_PARAM, {});
  // A handler may answer on a thread of its own.
  events_->deliver(std::move(*event), [this, answer](events::Outcome outcome) {
    if (outcome != events::Outcome::closed) run_later([answer] { answer(PMIX_SUCCESS, {}); });
  });
}

/// An event of a local client that other nodes may want, too. The host has not taken it upon itself.
void Server::relay_to_nodes(const events::Event& event) {
  const auto body = encoded(event);
  for (const auto node : nodes_->others()) nodes_->letters().send(node, Subject::relay, body, nullptr);
}

// ---- fences with other nodes

std::vector<NodeNumber> Server::nodes_of(const Procs& procs) {
  std::set<NodeNumber> nodes;
  for (const auto& proc : procs) {
    const auto* job = find_job(link::nspace_of(proc));
    if (job == nullptr || !job->writer) return {};
    if (is_whole_job(procs)) return job->nodes;
    if (proc.rank == PMIX_RANK_WILDCARD) {
      nodes.insert(job->nodes.begin(), job->nodes.end());
      continue;
    }
    const auto* entry = job->view().rank(proc.rank);
    if (entry == nullptr || entry->node == store::none) return {};
    nodes.insert(entry->node);
  }
  return {nodes.begin(), nodes.end()};
}

/// What the other nodes may ask about this node's part of a fence. Who is missing there by its own will, or has ended?
LocalPart Server::local_part(const Procs& procs, std::uint64_t ahead) {
  LocalPart part;
  const SetFence* open = nullptr;
  for (const auto& fence : fences_)
    if (fence->state == FenceState::gathering && open == nullptr && is_same(fence->signature, procs) &&
        ahead-- == 0)
      open = fence.get();
  const bool is_at_board = is_whole_job(procs);
  for (const auto& proc : procs) {
    const auto* job = find_job(link::nspace_of(proc));
    if (job == nullptr || !job->writer) continue;
    const auto& view = job->view();
    for (std::uint32_t i = 0; i < view.local_count(); ++i) {
      const auto& local = view.local(i);
      const auto rank = local.rank.load(std::memory_order_relaxed);
      if (proc.rank != PMIX_RANK_WILDCARD && proc.rank != rank) continue;
      const bool has_arrived = is_at_board
                                   ? ahead == 0 && job->board().arrived(i, job->board().open_generation())
                                   : open != nullptr && open->has_entered(link::make_proc(job->nspace, rank));
      if (has_arrived) {
        part.state = LocalPart::State::waiting;
        continue;
      }
      part.missing.push_back({rank, local.pid.load(std::memory_order_relaxed)});
      const auto state = local.state.load(std::memory_order_acquire);
      if (state == store::Local::gone) part.hopeless = PMIX_ERR_PROC_ABORTED;
      if (state == store::Local::finalized && job->expected.count(i) == 0 && part.hopeless == PMIX_SUCCESS)
        part.hopeless = PMIX_ERR_UNREACH;
    }
  }
  std::sort(part.missing.begin(), part.missing.end(),
            [](const Missing& a, const Missing& b) { return a.rank < b.rank; });
  return part;
}

/// Another node is in a fence that this node's part of cannot be entered any more.
void Server::give_up(const Procs& procs, pmix_status_t why) {
  if (is_whole_job(procs)) {
    auto* job = find_job(link::nspace_of(procs[0]));
    if (job == nullptr || !job->writer) return;
    const auto open = job->board().open_generation();
    job->board().abort(open, {why, store::Board::no_member});
    spend_generations(*job, open, why);
    return board_moved(*job);
  }
  for (const auto& fence : fences_)
    if (fence->state == FenceState::gathering && is_same(fence->signature, procs))
      return step_fence(*fence, FenceEvent::lost, why);
  node_fences_->refuse(procs, why);
}

// ---- nodes that are lost

void Server::lose_node(NodeNumber node, const std::string& why) {
  modex_->node_lost(node);
  const auto about = [&] {
    data::Infos infos;
    infos.add(PMIX_NODEID, data::Value::of(static_cast<std::uint32_t>(node)));
    infos.add(PMIX_HOSTNAME, data::Value::of(std::string_view(nodes_->name_of(node))));
    infos.add(PMIX_EVENT_TEXT_MESSAGE, data::Value::of(std::string_view(why)));
    return infos;
  };
  const auto source = link::make_proc(link::nspace_of(self_), node);
  tell_who_asked({PMIX_EVENT_NODE_DOWN, source, PMIX_RANGE_LOCAL, about()});
  for (const auto& [nspace, job] : jobs_)
    if (job->writer)
      for (const auto rank : job->view().ranks_on(node))
        node_fences_->enter_gone(link::make_proc(nspace, rank));
  const auto name = nodes_->name_of(node);
  events_->deliver({PMIX_EVENT_NODE_DOWN, source, PMIX_RANGE_LOCAL, about()}, [host = host_, name,
                                                                               why](events::Outcome outcome) {
    if (outcome == events::Outcome::no_handler)  // else the host says what it means for the job
      std::fprintf(stderr, "weft: [%s] node %s is lost: %s\n", host.c_str(), name.c_str(), why.c_str());
  });
}

}  // namespace weft::server
