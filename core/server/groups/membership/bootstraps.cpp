// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/membership/bootstraps.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/data/types/array.hpp"

namespace weft::server {
namespace {

/// Until a node of the job is asked once more, where the job is not registered yet.
constexpr std::chrono::milliseconds registration_pause{20};

}  // namespace

/// Of two that have heard of two attempts the lower server's is taken for the latest.
void BootstrapItem::add(BootstrapItem other) {
  ready.insert(ready.end(), other.ready.begin(), other.ready.end());
  if (why == PMIX_SUCCESS) why = other.why;
  failed.insert(failed.end(), other.failed.begin(), other.failed.end());
}

Bootstraps::Bootstraps(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Groups& groups,
                       const OpenOperations& operations, Gatherings& gatherings)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      groups_(groups),
      operations_(operations),
      gatherings_(gatherings) {
  peers_.add_view_room(*this);
  peers_.on(RequestType::group_bootstrap, *this, &Bootstraps::take);
}

bool Bootstraps::is_for(const link::GroupConstruct& message) {
  return message.procs.empty() || message.directives.find(PMIX_GROUP_BOOTSTRAP) != nullptr ||
         message.directives.find(PMIX_GROUP_ADD_MEMBERS) != nullptr;
}

// ---- for a process of this node

pmix_status_t Bootstraps::read(const Requester& from, const link::GroupConstruct& message,
                               BootstrapCall& out) const {
  out.group = message.group;
  out.proc = from.proc();
  out.is_optional = is_set(message.directives, PMIX_GROUP_OPTIONAL);
  if (message.procs.empty()) return PMIX_SUCCESS;
  const auto* count = message.directives.find(PMIX_GROUP_BOOTSTRAP);
  const auto leaders = count == nullptr ? weft::fail(Errc::not_found) : data::as_unsigned(count->value);
  if (!leaders || *leaders == 0 || !contains(message.procs, from.proc())) return PMIX_ERR_BAD_PARAM;
  out.leaders = *leaders;
  auto members = message.procs;
  if (const auto* added = message.directives.find(PMIX_GROUP_ADD_MEMBERS))
    for (const auto& proc : data::elements_of<pmix_proc_t>(added->value, PMIX_PROC)) members.push_back(proc);
  out.members = groups_.by_rank(members);
  return PMIX_SUCCESS;
}

void Bootstraps::enter(const Requester& from, link::GroupConstruct message) {
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  const auto waiting = std::make_shared<Waiting>();
  waiting->from = from;
  waiting->message = std::move(message);
  const auto timeout = data::timeout_in(waiting->message.directives);
  const auto status = timeout ? read(from, waiting->message, waiting->call) : PMIX_ERR_BAD_PARAM;
  if (status != PMIX_SUCCESS) return from.reply(status);
  waiting->at = waiting_.insert(waiting_.end(), waiting);
  waiting->since = loop_.now();
  if (const auto until = data::deadline_after(*timeout, loop_.now())) {
    waiting->deadline = std::make_unique<Timer>(loop_, *until, [this, weak = std::weak_ptr(waiting)] {
      // The attempt may have ended otherwise meanwhile: the reply to the call says how.
      if (const auto open = weak.lock(); open && open->at) tell_end(open, PMIX_ERR_TIMEOUT);
    });
  }
  send(waiting);
}

void Bootstraps::send(const WaitingRef& waiting) {
  peers_.ask(waiting, place_of(waiting->call.group, waiting->passed_over), RequestType::group_bootstrap,
             base::encode(waiting->call),
             [this, weak = std::weak_ptr(waiting)](pmix_status_t status, Bytes body) {
               if (const auto open = weak.lock(); open->at) replied(open, status, body);
             });
}

void Bootstraps::replied(const WaitingRef& waiting, pmix_status_t status, Bytes body) {
  const auto reply =
      status == PMIX_SUCCESS ? base::decode<BootstrapReply>(body) : weft::fail(Errc::not_found);
  if (reply && reply->outcome == BootstrapReply::Outcome::job_unknown) return look_elsewhere(waiting);
  if (reply && reply->outcome == BootstrapReply::Outcome::failed) note_failure(*waiting, reply->status);
  if (status == PMIX_SUCCESS) status = reply ? reply->status : PMIX_ERR_UNPACK_FAILURE;
  finish(waiting, status, reply ? reply->members : link::RankRuns());
}

void Bootstraps::finish(const WaitingRef& waiting, pmix_status_t status, const link::RankRuns& runs) {
  erase(waiting);
  waiting->deadline.reset();
  auto members = link::procs_of(runs);
  if (status == PMIX_SUCCESS && !members) status = PMIX_ERR_UNPACK_FAILURE;
  if (status != PMIX_SUCCESS) return waiting->from.reply(status);
  latest_members_.add(waiting->call.group, *members, [this](const std::string& name, const Procs& of_it) {
    return is_under_way(name, of_it);
  });
  waiting->message.procs = std::move(*members);
  auto& message = waiting->message;  // with all members
  gatherings_.enter(waiting->from, {OperationName::Kind::construct, std::move(message.group)},
                    std::move(message.procs), std::move(message.directives),
                    std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - waiting->since));
}

void Bootstraps::erase(const WaitingRef& waiting) {
  waiting_.erase(*waiting->at);
  waiting->at.reset();
}

/// The server of a node of the job will know it; any other is passed over, by all callers of the job alike.
void Bootstraps::look_elsewhere(const WaitingRef& waiting) {
  if (waiting->call.status != PMIX_SUCCESS) return finish(waiting, waiting->call.status, {});  // it gives up
  const auto nodes = jobs_.nodes_of(whole_job(link::nspace_of(waiting->call.proc)));
  if (!std::binary_search(nodes.begin(), nodes.end(), waiting->keeper)) {
    waiting->passed_over.insert(waiting->keeper);
    return send(waiting);
  }
  waiting->pause = std::make_unique<Timer>(
      loop_, registration_pause, [this, weak = std::weak_ptr(waiting), number = waiting->sent] {
        if (const auto open = weak.lock(); open && open->at && open->sent == number) send(open);
      });
}

/// The server that brings them together knows it already.
void Bootstraps::note_failure(const Waiting& waiting, pmix_status_t status) {
  if (waiting.keeper == peers_.self()) return;
  auto* known = failed_.find(waiting.call.group);
  if (known == nullptr || known->status != status || has_called(*known, waiting.call.proc))
    known = &failed_.add(waiting.call.group, {.since = {}, .status = status});
  known->place = waiting.keeper;
  known->callers.push_back({waiting.call, nullptr});
}

/// The others wait for this process.
void Bootstraps::tell_end(const WaitingRef& waiting, pmix_status_t status) {
  waiting->call.status = status;
  peers_.send(waiting->keeper, RequestType::group_bootstrap, base::encode(waiting->call), nullptr);
}

/// The same at all nodes, and another only where the node is not there: of all that are and that know the
/// job, that with the highest hash.
NodeNumber Bootstraps::place_of(const std::string& group, const std::set<NodeNumber>& passed_over) const {
  auto nodes = peers_.nodes();
  std::erase_if(nodes, [&](NodeNumber node) { return passed_over.count(node) != 0; });
  return *std::max_element(nodes.begin(), nodes.end(), [&](NodeNumber a, NodeNumber b) {
    const auto of = [&](NodeNumber node) {
      return std::pair(XXH3_64bits_withSeed(group.data(), group.size(), node), node);
    };
    return of(a) < of(b);
  });
}

// ---- where they come together

void Bootstraps::take(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply) {
  const auto answer = [reply](const BootstrapReply& said) { reply(PMIX_SUCCESS, base::encode(said)); };
  if (jobs_.find(link::nspace_of(call.proc)) == nullptr)
    return answer({BootstrapReply::Outcome::job_unknown});
  if (peers_.node_of(call.proc) != from) return reply(PMIX_ERR_BAD_PARAM, {});
  add(std::move(call), answer);
}

bool Bootstraps::is_under_way(const std::string& group, const Procs& members) const {
  return operations_.is_constructing(group, groups_.set_of_group(members));
}

void Bootstraps::add(BootstrapCall call, const Reply& reply) {
  using Outcome = BootstrapReply::Outcome;
  const bool is_leader = call.leaders != 0;
  const auto group = call.group;
  if (auto* failed = failed_.find(group)) {
    if (owes(*failed, call)) return answer_late(group, {{std::move(call), reply}});
    const bool is_of_next = has_called(*failed, call.proc) || (is_leader && wanted_leaders(*failed) != 0);
    failed->is_followed |= call.status == PMIX_SUCCESS && is_of_next;
  }
  if (call.status != PMIX_SUCCESS) {
    const auto open = boots_.find(group);
    const bool is_awaited = open != boots_.end() && (has_called(open->second, call.proc) ||
                                                     contains(members_of(open->second), call.proc));
    reply({Outcome::ended, call.status});
    if (is_awaited) end(open, call.status);
    return;
  }
  const auto at = boots_.try_emplace(group, Boot{.since = loop_.now()}).first;
  auto& boot = at->second;
  if (has_called(boot, call.proc)) return reply({Outcome::ended, PMIX_ERR_EXISTS});
  const auto wanted = wanted_leaders(boot);
  const bool disagrees = is_leader && wanted != 0 && call.leaders != wanted;
  watch();
  boot.callers.push_back({std::move(call), reply});
  const auto status = disagrees ? PMIX_ERR_BAD_PARAM : is_leader ? leave_out_gone(boot) : PMIX_SUCCESS;
  status == PMIX_SUCCESS ? look(at) : end(at, status);
}

Procs Bootstraps::members_of(const Boot& boot) {
  std::vector<const BootstrapCall*> leaders;
  for (const auto& caller : boot.callers)
    if (caller.call.leaders != 0) leaders.push_back(&caller.call);
  std::sort(leaders.begin(), leaders.end(),
            [](const BootstrapCall* a, const BootstrapCall* b) { return link::is_less(a->proc, b->proc); });
  Procs out;
  for (const auto* leader : leaders) {
    const auto members = link::procs_of(leader->members);
    out.push_back(leader->proc);
    out.insert(out.end(), members->begin(), members->end());
  }
  std::erase_if(out, [&](const pmix_proc_t& proc) { return contains(boot.left_out, proc); });
  return link::each_once(out);
}

/// 0: no leader has called.
std::uint64_t Bootstraps::wanted_leaders(const Boot& boot) {
  std::uint64_t out = 0;
  for (const auto& caller : boot.callers) out = std::max(out, caller.call.leaders);
  return out;
}

std::uint64_t Bootstraps::leaders_of(const Boot& boot) {
  return static_cast<std::uint64_t>(std::count_if(boot.callers.begin(), boot.callers.end(),
                                                  [](const Caller& each) { return each.call.leaders != 0; }));
}

bool Bootstraps::has_called(const Boot& boot, const pmix_proc_t& proc) {
  return std::any_of(boot.callers.begin(), boot.callers.end(),
                     [&](const Caller& each) { return link::is_same(each.call.proc, proc); });
}

/// Of those that leaders have named. PMIX_ERR_PROC_ABORTED: one is gone, and no caller has said that it is
/// optional.
pmix_status_t Bootstraps::leave_out_gone(Boot& boot) const {
  const bool is_optional = std::any_of(boot.callers.begin(), boot.callers.end(),
                                       [](const Caller& caller) { return caller.call.is_optional; });
  auto members = members_of(boot);
  const auto is_gone = [&](const pmix_proc_t& proc) {
    return gone_.count({std::string(link::nspace_of(proc)), proc.rank}) != 0 && !has_called(boot, proc);
  };
  for (const auto& proc : members)
    if (is_gone(proc)) boot.left_out.push_back(proc);
  if (!boot.left_out.empty() && !is_optional) return PMIX_ERR_PROC_ABORTED;
  boot.named = members_of(boot).size();
  return PMIX_SUCCESS;
}

/// All are there: each caller that is a member hears of all members, the others that they are none.
void Bootstraps::look(BootAt at) {
  auto& boot = at->second;
  const auto wanted = wanted_leaders(boot), leaders = leaders_of(boot);
  if (leaders > wanted) return end(at, PMIX_ERR_BAD_PARAM);
  if (leaders == 0 || leaders != wanted || boot.callers.size() < boot.named) return;
  const auto order = members_of(boot);
  auto members = order;
  std::sort(members.begin(), members.end(), link::is_less);
  const auto is_member = [&](const Caller& caller) {
    return std::binary_search(members.begin(), members.end(), caller.call.proc, link::is_less);
  };
  const auto called = std::count_if(boot.callers.begin(), boot.callers.end(), is_member);
  if (static_cast<std::size_t>(called) != members.size()) return;
  const BootstrapReply all{BootstrapReply::Outcome::ended, PMIX_SUCCESS, link::runs_of(order)};
  const auto callers = std::move(boot.callers);
  boots_.erase(at);
  for (const auto& caller : callers)
    caller.reply(is_member(caller) ? all
                                   : BootstrapReply{BootstrapReply::Outcome::ended, PMIX_ERR_NOT_A_MEMBER});
}

void Bootstraps::end(BootAt at, pmix_status_t status) {
  auto ended = boots_.extract(at);
  auto& boot = ended.mapped();
  boot.status = status;
  boot.place = peers_.self();
  for (auto& caller : boot.callers)
    std::exchange(caller.reply, nullptr)({BootstrapReply::Outcome::failed, status});
  failed_.add(ended.key(), std::move(boot));
}

/// The call is one of those that the attempt has waited for: of a process that leaders have named; of another
/// leader, or a process that such a one may bring, where not all have called; of a leader that brings callers
/// which no leader had named yet. These do not where callers have only given up: they may try again, and a
/// process that comes between two tries waits for the next.
bool Bootstraps::owes(const Boot& failed, const BootstrapCall& call) {
  if (has_called(failed, call.proc)) return false;
  if (contains(members_of(failed), call.proc)) return true;
  if (failed.is_followed || failed.status == PMIX_ERR_TIMEOUT) return false;
  const auto wanted = wanted_leaders(failed);
  if (wanted != 0) return leaders_of(failed) < wanted && (call.leaders == 0 || call.leaders == wanted);
  return std::any_of(failed.callers.begin(), failed.callers.end(),
                     [&](const Caller& each) { return link::holds(call.members, each.call.proc); });
}

/// Each of them may tell that more of the calls that wait here belong to that attempt: a leader does.
void Bootstraps::answer_late(const std::string& group, std::vector<Caller> late) {
  auto& failed = *failed_.find(group);
  const auto at = boots_.find(group);
  do {
    for (auto& caller : late) {
      std::exchange(caller.reply, nullptr)({BootstrapReply::Outcome::failed, failed.status});
      failed.callers.push_back(std::move(caller));
    }
    late.clear();
    if (at == boots_.end()) return;
    auto& open = at->second.callers;
    const auto first = std::stable_partition(open.begin(), open.end(),
                                             [&](const Caller& each) { return !owes(failed, each.call); });
    std::move(first, open.end(), std::back_inserter(late));
    open.erase(first, open.end());
  } while (!late.empty());
  if (at->second.callers.empty()) boots_.erase(at);
}

// ---- which ranks are missing

/// All that have called or are named.
FenceName Bootstraps::name_of(const std::string& group, const Boot& boot) {
  auto procs = members_of(boot);
  for (const auto& caller : boot.callers) procs.push_back(caller.call.proc);
  return {link::runs_of(link::each_once(procs)), 1, {OperationName::Kind::bootstrap, group}};
}

/// Of leaders that have not called only the number is known.
void Bootstraps::each_wait(const SeeWait& see) {
  for (auto& [group, open] : boots_) {
    const auto& boot = open;
    const auto wanted = wanted_leaders(boot), leaders = leaders_of(boot);
    KeptWait wait{name_of(group, boot), boot.since, open.is_reported,
                  [&boot](const pmix_proc_t& proc) { return has_called(boot, proc); }};
    if (wanted == 0)
      wait.remark = " (no leader has called)";
    else if (leaders < wanted)
      wait.remark = fmt::format(" ({} of {} leaders have called)", leaders, wanted);
    if (!wait.remark.empty()) wait.also = "leaders that are not known yet";
    see(wait);
  }
}

bool Bootstraps::has_called(const FenceName& name, const pmix_proc_t& proc) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const WaitingRef& waiting) {
    return waiting->call.group == name.operation.group && link::is_same(waiting->call.proc, proc);
  });
}

}  // namespace weft::server
