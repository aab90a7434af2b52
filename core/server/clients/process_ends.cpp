// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/process_ends.hpp"

#include <algorithm>
#include <utility>

namespace weft::server {

using store::Local;

namespace {

/// Between looks at whether a namespace that has ended is still in something.
constexpr std::chrono::seconds pause_of_looks{1};

}  // namespace

ProcessEnds::ProcessEnds(const Rooms& rooms, Loop& loop, Cluster& cluster, Exchanges& exchanges,
                         std::size_t width)
    : rooms_(rooms), loop_(loop), cluster_(cluster), exchanges_(exchanges), width_(width) {
  cluster_.on(RequestType::process_gone, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto end = base::decode<ProcessEnd>(body);
    if (!end || !take(*end)) return reply(PMIX_ERR_BAD_PARAM, {});
    pass_on(*end, end->below, std::shared_ptr<void>(nullptr, [reply](void*) { reply(PMIX_SUCCESS, {}); }));
  });
}

void ProcessEnds::connection_closed(const ConnectionRef& connection) {
  rooms_.gets.drop(connection.get());
  rooms_.outputs.closed(connection);
  rooms_.questions.closed(connection);
  rooms_.published.closed(connection);
  rooms_.monitors.closed(connection);
  rooms_.watched_codes.remove(connection->subscription.wishes());
  rooms_.fences.disconnect(*connection);
}

// ---- of this node

void ProcessEnds::process_ended(Job& job, std::uint32_t index, How how) {
  const auto proc = link::make_proc(job.nspace, job.rank_of(index));
  const bool has_finalized = how == How::finalized || how == How::finalized_for_now;
  const auto status = has_finalized ? PMIX_ERR_UNREACH : PMIX_ERR_PROC_ABORTED;
  auto& state = job.view().local(index).state;
  const bool had_finalized = state.load(std::memory_order_relaxed) == Local::finalized;
  // Word of the loss goes before what follows from it, here and to other nodes: ranks leave because their
  // calls fail.
  if (how == How::died) {
    tell_other_nodes(job, proc, true);
    rooms_.events.announce_loss(proc);
  }
  state.store(has_finalized ? Local::finalized : Local::gone, std::memory_order_release);  // LO.S1 -> S2
  if (how != How::finalized_for_now) rooms_.fences.lose(job, index, status);
  if (!had_finalized) tell_groups(proc, status);
  rooms_.gets.retry(proc);
  if (how != How::finalized_for_now) rooms_.published.process_ended(proc);
  if (how != How::taken_away) return;
  absentees_[job.nspace].push_back(proc.rank);
  tell_of_absentees(job);
}

/// Members of its groups hear of it before what waits for this process alone ends, and a group with its last
/// member.
void ProcessEnds::tell_groups(const pmix_proc_t& proc, pmix_status_t status) {
  rooms_.operations.lose_at_boards(proc);
  const auto without_members = rooms_.groups.process_ended(proc);
  rooms_.bootstraps.lose(proc, status);
  rooms_.invited.lose(proc);
  rooms_.memberships.lose(proc);
  rooms_.invitations.lose(proc);
  rooms_.gatherings.lose(proc, status);
  rooms_.gatherings.lose_groups(without_members);
}

// ---- of and for other nodes

void ProcessEnds::tell_other_nodes(const Job& job, const pmix_proc_t& proc, bool is_loss) {
  pass_on({cluster_.self(), proc, is_loss}, nodes_concerned(job, proc), nullptr);
}

/// Those of its job, and of processes of other jobs that it is connected with, or in a group.
std::vector<NodeNumber> ProcessEnds::nodes_concerned(const Job& job, const pmix_proc_t& proc) const {
  auto out = job.nodes;
  const auto of_others = rooms_.groups.nodes_in_groups_with(proc);
  out.insert(out.end(), of_others.begin(), of_others.end());
  const auto connected = rooms_.operations.nodes_connected_with(proc);
  out.insert(out.end(), connected.begin(), connected.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// False: no server says such a thing.
bool ProcessEnds::take(const ProcessEnd& end) {
  const auto is_other = [this](NodeNumber node) {
    return node < cluster_.servers().count() && node != cluster_.self();
  };
  const auto nodes = rooms_.jobs.nodes_of({end.proc});
  const bool is_of_node = nodes.empty() || nodes.front() == end.node;
  if (!is_of_node || !is_other(end.node) || !std::all_of(end.below.begin(), end.below.end(), is_other))
    return false;
  remote_process_ended(end);
  return true;
}

/// Each of some servers gets an equal part of the rest. Where one is lost, or does not take it, this server
/// tells those below itself: they may hear of it twice.
void ProcessEnds::pass_on(const ProcessEnd& end, const std::vector<NodeNumber>& below,
                          const std::shared_ptr<void>& told) {
  std::vector<NodeNumber> there;
  for (const auto node : below)
    if (node != cluster_.self() && cluster_.servers().is_there(node)) there.push_back(node);
  const auto each = (there.size() + width_ - 1) / width_;
  for (std::size_t at = 0; at < there.size(); at += each) {
    const auto part = std::min(each, there.size() - at);
    std::vector<NodeNumber> rest(there.begin() + at + 1, there.begin() + at + part);
    auto body = base::encode(ProcessEnd{end.node, end.proc, end.is_loss, rest});
    cluster_.send(there[at], RequestType::process_gone, std::move(body),
                  [this, end, rest = std::move(rest), told](pmix_status_t status, Bytes) {
                    if (status != PMIX_SUCCESS) pass_on(end, rest, told);
                  });
  }
}

void ProcessEnds::tell_of_absentees(const Job& job) {
  const auto found = absentees_.find(job.nspace);
  if (found == absentees_.end()) return;
  const auto& view = job.view();
  bool has_clients = false;
  for (std::uint32_t i = 0; i < view.local_count() && !has_clients; ++i)
    has_clients = view.local(i).pid.load(std::memory_order_relaxed) != 0;
  if (!has_clients) return;
  for (const auto rank : found->second) tell_other_nodes(job, link::make_proc(job.nspace, rank), false);
  absentees_.erase(found);
}

void ProcessEnds::remote_process_ended(const ProcessEnd& end) {
  if (!exchanges_.process_died(end.proc)) return;
  if (end.is_loss) rooms_.events.announce_death(end.proc, end.node);
  rooms_.groups.table().settle();
  rooms_.bootstraps.lose(end.proc, PMIX_ERR_PROC_ABORTED);
  rooms_.memberships.lose(end.proc);
  rooms_.invitations.lose(end.proc);
  for (const auto& name : rooms_.groups.process_ended(end.proc)) rooms_.groups.drop(name);
}

void ProcessEnds::node_lost(const Cluster::Lost& lost) {
  const auto node = lost.node;
  if (!lost.has_left) rooms_.events.announce_lost_node(node, cluster_.servers().name_of(node), lost.why);
  rooms_.cards.node_lost(node);
  rooms_.published.node_lost(node);
  rooms_.jobs.each_known([&](const Job& job) {
    for (const auto rank : job.view().ranks_on(node)) {
      const auto proc = link::make_proc(job.nspace, rank);
      remote_process_ended({node, proc, !lost.has_left});
      // One that has died before was invited since, and its server would have answered for it.
      rooms_.invitations.lose(proc);
    }
  });
}

// ---- of a namespace

void ProcessEnds::namespace_ended(Job& job) {
  const auto nspace = job.nspace;
  rooms_.gatherings.forget(nspace);
  // Processes of other namespaces may wait in a group for those that the host has not told of one by one.
  if (job.writer) end_processes(job);
  rooms_.cards.withdraw(nspace);
  rooms_.events.forget(nspace);
  rooms_.operations.lose_at_boards(link::make_proc(nspace, PMIX_RANK_WILDCARD));
  rooms_.published.namespace_ended(nspace);
  rooms_.process_sets.forget(nspace);
  absentees_.erase(nspace);
  if (!job.has_met) return forget(nspace);
  job.has_ended = true;
  job.clients.clear();
  rooms_.gets.retry_all(nspace);
  ended_.push_back({nspace, loop_.now() + known_for});
  forget_ended();
}

void ProcessEnds::end_processes(Job& job) {
  std::vector<std::uint32_t> live;
  const auto& view = job.view();
  for (std::uint32_t local = 0; local < view.local_count(); ++local) {
    auto& state = view.local(local).state;
    const auto now = state.load(std::memory_order_relaxed);
    if (now == Local::gone) continue;
    if (job.has_met) rooms_.fences.lose(job, local, PMIX_ERR_UNREACH);
    if (now == Local::finalized) continue;
    state.store(Local::gone, std::memory_order_release);  // LO.S1 -> S2
    live.push_back(job.rank_of(local));
  }
  for (const auto rank : live) tell_groups(link::make_proc(job.nspace, rank), PMIX_ERR_UNREACH);
  if (!job.has_met) return;
  // Their servers say whether their part in what is open here has come.
  for (const auto node : job.nodes)
    if (node != cluster_.self())
      for (const auto rank : view.ranks_on(node))
        remote_process_ended({node, link::make_proc(job.nspace, rank), false});
}

void ProcessEnds::forget(const std::string& nspace) {
  rooms_.gatherings.end_all_with(nspace);  // of those that is_in_nothing() has not been asked about
  rooms_.fences.close_job(nspace);
  rooms_.bootstraps.forget(nspace);
  rooms_.operations.forget(nspace);
  rooms_.groups.forget(nspace);
  rooms_.jobs.erase(nspace);
  rooms_.gets.retry_all(nspace);  // a Get that waits for its data waits for nothing
}

/// What is still between the nodes waits for processes of other namespaces that have not called, and find
/// this one gone when they do: the servers agree on an end. A group that has other members needs the
/// namespace as long as it is there, and so do its fences and its end, and a construct that will be made of
/// the others. What gathers here, and does not go on without the namespace, is refused, and needs it until
/// all nodes have that end.
bool ProcessEnds::is_in_nothing(const std::string& nspace) {
  const auto is_needed = [&] {
    return rooms_.groups.has_others_than(nspace) || rooms_.gatherings.is_any_under_way_with(nspace);
  };
  if (!is_needed()) rooms_.gatherings.end_all_with(nspace);
  const auto open = exchanges_.open_with(nspace);
  for (const auto& key : open)
    if (!exchanges_.is_of_group(key)) exchanges_.give_up(key, PMIX_ERR_UNREACH);
  return open.empty() && !is_needed();
}

void ProcessEnds::forget_ended() {
  const auto now = loop_.now();
  auto too_many = ended_.size() - std::min(ended_.size(), most_known);
  std::vector<std::string> over;
  std::erase_if(ended_, [&](const Ended& each) {
    const bool is_due = each.until <= now || too_many != 0;
    if (!is_due || !is_in_nothing(each.nspace)) return false;
    too_many -= too_many != 0 ? 1 : 0;
    over.push_back(each.nspace);
    return true;
  });
  for (const auto& nspace : over) forget(nspace);
  timer_.reset();
  if (ended_.empty()) return;
  const auto next = std::max(ended_.front().until, now + pause_of_looks);
  timer_ = std::make_unique<Timer>(loop_, next, [this] { forget_ended(); });
}

void ProcessEnds::make_room_for(std::string_view nspace) {
  const auto found =
      std::find_if(ended_.begin(), ended_.end(), [&](const Ended& each) { return each.nspace == nspace; });
  if (found == ended_.end()) return;
  const auto name = std::move(found->nspace);
  ended_.erase(found);
  forget(name);
}

}  // namespace weft::server
