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

link::RankRun run_of(const pmix_proc_t& proc) {
  return {std::string(link::nspace_of(proc)), proc.rank, proc.rank};
}

}  // namespace

Bootstraps::Bootstraps(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Groups& groups,
                       Gatherings& gatherings)
    : loop_(loop), jobs_(jobs), peers_(peers), groups_(groups), gatherings_(gatherings) {
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
      if (const auto open = weak.lock(); open && open->at) give_up(open, PMIX_ERR_TIMEOUT);
    });
  }
  send(waiting);
}

/// Where the process is gone meanwhile the server hears of its call all the same: the others may wait for it.
void Bootstraps::send(const WaitingRef& waiting) {
  peers_.ask(waiting, place_of(waiting->call.group, waiting->passed_over), RequestType::group_bootstrap,
             base::encode(waiting->call),
             [this, weak = std::weak_ptr(waiting)](pmix_status_t status, Bytes body) {
               if (const auto open = weak.lock(); open->at) replied(open, status, body);
             });
  if (waiting->gone != PMIX_SUCCESS) tell_gone(waiting);
}

void Bootstraps::replied(const WaitingRef& waiting, pmix_status_t status, Bytes body) {
  using Outcome = BootstrapReply::Outcome;
  const auto reply =
      status == PMIX_SUCCESS ? base::decode<BootstrapReply>(body) : weft::fail(Errc::not_found);
  if (!reply) return finish(waiting, status == PMIX_SUCCESS ? PMIX_ERR_UNPACK_FAILURE : status);
  if (reply->outcome == Outcome::job_unknown) return look_elsewhere(waiting);
  if (reply->outcome == Outcome::told) return finish(waiting, reply->status);
  const auto group = waiting->call.group;
  learn(group, reply->end, waiting->keeper);
  if (!waiting->at) return;
  auto* failed = failed_.find(group);  // it has failed before this call
  if (failed != nullptr && !failed->has_told(waiting->call.proc))
    failed->late.push_back(run_of(waiting->call.proc));
  finish(waiting, reply->end);
}

/// The first word here of this end is that for all processes of this node that are in it.
void Bootstraps::learn(const std::string& group, const BootstrapEnd& end, NodeNumber keeper) {
  const bool is_made = end.status == PMIX_SUCCESS;
  const auto* failed = failed_.find(group);
  const auto* known = is_made ? made_.find(group) : failed != nullptr ? &failed->end : nullptr;
  if (known != nullptr && known->place == end.place && known->number >= end.number) return;
  last_ = std::max(last_, end.number);
  if (!is_made) failed_.add(group, {.end = end, .keeper = keeper});
  if (finish_all(group, end) && is_made) made_.add(group, end);
}

/// False: no process of this node is in it.
bool Bootstraps::finish_all(const std::string& group, const BootstrapEnd& end) {
  bool is_in = false;
  const auto open = waiting_;
  for (const auto& each : open) {
    if (!each->at || each->call.group != group || each->keeper != end.place ||
        !link::holds(end.callers, each->call.proc))
      continue;
    is_in = true;
    finish(each, end);
  }
  return is_in;
}

void Bootstraps::finish(const WaitingRef& waiting, const BootstrapEnd& end) {
  auto members = link::procs_of(end.members);
  auto status = members ? end.status : PMIX_ERR_UNPACK_FAILURE;
  if (status == PMIX_SUCCESS && !link::holds(end.members, waiting->call.proc)) status = PMIX_ERR_NOT_A_MEMBER;
  const bool has_ended = waiting->gone != PMIX_SUCCESS && waiting->gone != PMIX_ERR_TIMEOUT;
  if (status == PMIX_SUCCESS && has_ended) status = waiting->gone;
  if (status != PMIX_SUCCESS) return finish(waiting, status);
  erase(waiting);
  auto& message = waiting->message;
  gatherings_.enter(waiting->from, {OperationName::Kind::construct, std::move(message.group)},
                    std::move(*members), std::move(message.directives),
                    std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - waiting->since));
}

void Bootstraps::finish(const WaitingRef& waiting, pmix_status_t status) {
  erase(waiting);
  waiting->from.reply(status);
}

void Bootstraps::erase(const WaitingRef& waiting) {
  waiting_.erase(*waiting->at);
  waiting->at.reset();
  waiting->deadline.reset();
}

/// The server of a node of the job will know it; any other is passed over, by all callers of the job alike.
void Bootstraps::look_elsewhere(const WaitingRef& waiting) {
  if (waiting->gone != PMIX_SUCCESS) return finish(waiting, waiting->gone);
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

void Bootstraps::give_up(const WaitingRef& waiting, pmix_status_t status) {
  if (waiting->gone == PMIX_SUCCESS || waiting->gone == PMIX_ERR_TIMEOUT) waiting->gone = status;
  tell_gone(waiting);
}

/// The others wait for this process. The reply to its call says how the attempt ends, for it, too.
void Bootstraps::tell_gone(const WaitingRef& waiting) {
  auto call = waiting->call;
  call.status = waiting->gone;
  peers_.send(waiting->keeper, RequestType::group_bootstrap, base::encode(call), nullptr);
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

/// The server of the process may have heard of its job before.
void Bootstraps::take(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply) {
  const auto proc = call.proc;
  peers_.when_known(proc, [this, from, shared = std::make_shared<BootstrapCall>(std::move(call)), reply] {
    take_known(from, std::move(*shared), reply);
  });
}

void Bootstraps::take_known(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply) {
  const auto answer = [reply](const BootstrapReply& said) { reply(PMIX_SUCCESS, base::encode(said)); };
  if (jobs_.find(link::nspace_of(call.proc)) == nullptr)
    return answer({BootstrapReply::Outcome::job_unknown});
  if (peers_.node_of(call.proc) != from) return reply(PMIX_ERR_BAD_PARAM, {});
  if (call.failed) remember(call.group, std::move(*call.failed));
  call.failed.reset();
  if (call.status == PMIX_SUCCESS) return add(std::move(call), answer);
  reply(PMIX_SUCCESS, {});
  if (const auto at = boots_.find(call.group); at != boots_.end()) lose_caller(at, call.proc, call.status);
}

void Bootstraps::add(BootstrapCall call, const Reply& reply) {
  const bool is_leader = call.leaders != 0;
  const auto group = call.group;
  if (auto* failed = failed_.find(group)) {
    if (owes(*failed, call)) return answer_late(group, {{std::move(call), reply}});
    const bool is_of_next = is_leader && failed->end.leaders != 0 && !may_belong(*failed, call);
    failed->is_followed |= failed->has_told(call.proc) || is_of_next;
  }
  const auto at = boots_.try_emplace(group, Boot{.since = loop_.now()}).first;
  auto& boot = at->second;
  if (has_called(boot, call.proc)) return reply({.status = PMIX_ERR_EXISTS});
  const auto wanted = wanted_leaders(boot);
  const bool disagrees = is_leader && wanted != 0 && call.leaders != wanted;
  watch();
  boot.callers.push_back({std::move(call), reply});
  const auto status = disagrees ? PMIX_ERR_BAD_PARAM : is_leader ? leave_out_gone(boot) : PMIX_SUCCESS;
  status == PMIX_SUCCESS ? look(at) : end(at, status);
}

/// It has ended or given up. Where its attempt has ended before, it is no caller any more.
void Bootstraps::lose_caller(BootAt at, const pmix_proc_t& proc, pmix_status_t status) {
  auto& callers = at->second.callers;
  const auto caller = std::find_if(callers.begin(), callers.end(),
                                   [&](const Caller& each) { return link::is_same(each.call.proc, proc); });
  if (caller == callers.end()) return;
  const bool may_be_brought = !has_leaders(at->second);
  const bool is_known = caller->call.leaders != 0 || contains(members_of(at->second), proc);
  if (is_known || (status == PMIX_ERR_TIMEOUT && may_be_brought)) return end(at, status);
  const auto reply = std::move(caller->reply);
  callers.erase(caller);
  if (callers.empty()) boots_.erase(at);
  reply({.status = status});
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

bool Bootstraps::has_leaders(const Boot& boot) {
  const auto wanted = wanted_leaders(boot);
  return wanted != 0 && leaders_of(boot) >= wanted;
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
  const BootstrapReply all{.outcome = BootstrapReply::Outcome::ended,
                           .end = end_of(boot, PMIX_SUCCESS, order)};
  const auto callers = std::move(boot.callers);
  boots_.erase(at);
  for (const auto& caller : callers) caller.reply(all);
}

BootstrapEnd Bootstraps::end_of(const Boot& boot, pmix_status_t status, const Procs& members) {
  Procs callers;
  for (const auto& caller : boot.callers) callers.push_back(caller.call.proc);
  return {.place = peers_.self(),
          .number = ++last_,
          .status = status,
          .callers = link::runs_of(link::each_once(callers)),
          .members = link::runs_of(members),
          .leaders = wanted_leaders(boot),
          .has_leaders = has_leaders(boot)};
}

/// Callers that have given up may try again, and a process that comes between two tries waits for the next.
/// Where there is none it is in the attempt that they have given up, and has that end.
void Bootstraps::end(BootAt at, pmix_status_t status) {
  auto ended = boots_.extract(at);
  auto& boot = ended.mapped();
  auto members = members_of(boot);
  members.insert(members.end(), boot.left_out.begin(), boot.left_out.end());
  BootstrapReply all{.outcome = BootstrapReply::Outcome::ended, .end = end_of(boot, status, members)};
  const auto* before = failed_.find(ended.key());
  const bool is_given_up = before != nullptr && before->end.status == PMIX_ERR_TIMEOUT;
  if (is_given_up && !before->is_followed && may_be_one(before->end, all.end))
    all.end.status = PMIX_ERR_TIMEOUT;
  failed_.add(ended.key(), {.end = all.end, .keeper = peers_.self()});
  for (const auto& caller : boot.callers) caller.reply(all);
}

/// What has come behind that end may belong to it: leaders were missing in both, or this brings callers of
/// an attempt in which no leader has called.
bool Bootstraps::may_be_one(const BootstrapEnd& end, const BootstrapEnd& behind) {
  if (end.has_leaders) return false;
  const bool is_alike = end.leaders == 0 || behind.leaders == 0 || end.leaders == behind.leaders;
  if (is_alike && !behind.has_leaders) return true;
  const auto callers = link::procs_or_none(end.callers);
  return end.leaders == 0 && std::any_of(callers.begin(), callers.end(), [&](const pmix_proc_t& proc) {
           return link::holds(behind.members, proc);
         });
}

bool Bootstraps::may_belong(const FailedBootstrap& failed, const BootstrapCall& call) {
  return !failed.is_followed && !failed.has_told(call.proc) &&
         may_be_one(failed.end,
                    {.members = call.members, .leaders = call.leaders, .has_leaders = call.leaders == 1});
}

/// The call is one of those that the attempt has waited for.
bool Bootstraps::owes(const FailedBootstrap& failed, const BootstrapCall& call) {
  if (failed.has_told(call.proc)) return false;
  return link::holds(failed.end.members, call.proc) ||
         (failed.end.status != PMIX_ERR_TIMEOUT && may_belong(failed, call));
}

void Bootstraps::answer_late(const std::string& group, std::vector<Caller> late) {
  auto& failed = *failed_.find(group);
  if (const auto at = boots_.find(group); at != boots_.end()) {
    auto& open = at->second.callers;
    const auto first = std::stable_partition(open.begin(), open.end(),
                                             [&](const Caller& each) { return !owes(failed, each.call); });
    std::move(first, open.end(), std::back_inserter(late));
    open.erase(first, open.end());
    if (open.empty()) boots_.erase(at);
  }
  for (const auto& caller : late) {
    failed.late.push_back(run_of(caller.call.proc));
    caller.reply({.outcome = BootstrapReply::Outcome::ended, .end = failed.end});
  }
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
