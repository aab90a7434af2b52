// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/exchange/exchange.hpp"

#include <algorithm>

#include "core/events/range.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

/// What a server says of the end of an attempt. The engine carries it, and does not read it.
constexpr collectives::Why reason(std::uint8_t number) {
  return collectives::Why(static_cast<std::uint8_t>(collectives::Why::of_callers) + number);
}
constexpr collectives::Why rivals = reason(0);

struct Reason {
  pmix_status_t status;
  collectives::Why why;
};
constexpr Reason reasons[] = {
    {PMIX_ERR_PROC_ABORTED, collectives::Why::lost},
    {PMIX_ERR_UNREACH, collectives::Why::unreachable},
    {PMIX_ERR_OUT_OF_RESOURCE, collectives::Why::no_space},
    {PMIX_ERR_NOMEM, collectives::Why::no_memory},
    {PMIX_ERR_BAD_PARAM, collectives::Why::invalid},  // also: not all want the cards to travel
    {PMIX_ERR_BAD_PARAM, rivals},
    {PMIX_ERR_UNPACK_FAILURE, collectives::Why::corrupt},
    {PMIX_ERR_TIMEOUT, reason(1)},
    {PMIX_ERR_EXISTS, reason(2)},
    {PMIX_ERR_NOT_FOUND, reason(3)},
    {PMIX_ERR_NOT_SUPPORTED, reason(4)},
    {PMIX_GROUP_CONSTRUCT_ABORT, reason(5)},
};
collectives::Why why_of(pmix_status_t status) noexcept {
  for (const auto& each : reasons)
    if (each.status == status) return each.why;
  return collectives::Why::canceled;
}
pmix_status_t status_of(collectives::Why why) noexcept {
  for (const auto& each : reasons)
    if (each.why == why) return each.status;
  return PMIX_ERROR;
}

}  // namespace

Exchanges::Exchanges(Loop& loop, Cluster& cluster, Jobs& jobs, Signatures& signatures)
    : loop_(loop), cluster_(cluster), jobs_(jobs), signatures_(signatures) {
  cluster_.on(RequestType::rival, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto rival = decode<Rival>(body);
    if (!rival) return reply(PMIX_ERR_BAD_PARAM, {});
    const Key key{rival->signature, rival->generation};
    // A fence is named by its set alone, and has no rivals.
    const auto open = open_.find(key);
    const bool is_fence = open != open_.end() && open->second.procs.operation().is_fence();
    // The sender may not know of a lost node yet: what it takes for a rival follows its own.
    const Key own{rival->own_signature, rival->own_generation};
    // It may have ended it well, and be in the next operation of that name: these are no rivals.
    const bool has_taken_part = attempts_of(own.first) >= own.second;
    if (is_fence || has_taken_part || gone_over_.find(key) != nullptr || gone_over_.find(own) != nullptr)
      return reply(PMIX_SUCCESS, base::encode(RivalReply{RivalReply::Outcome::gone_over}));
    pass_over({rival->own_signature, rival->own_generation});
    withdraw(key);
    reply(PMIX_SUCCESS, base::encode(RivalReply{}));
  });
}

/// The node of a rival is asked, and not told: it may have gone over to this collective, which then ends
/// well. Whichever set the participants have in the end, the node that waits in the other one has not begun
/// this generation of it: so that cannot end well anywhere while it is ended here. A node that is in the
/// rival alone, as that of a process that has left, says nothing about this one, which another node may
/// have ended well: the servers agree on its end.
void Exchanges::end_rivals(const Key& key) {
  const auto own = open_.find(key);
  if (own == open_.end()) return;
  const auto members = own->second.members;
  for (const auto& [rival, node] : cluster_.engine().rivals_of(key.first)) {
    const auto* passed = passed_.find(rival.first);
    if (passed != nullptr && rival.second <= *passed) continue;
    const bool is_in_both = std::binary_search(members.begin(), members.end(), node);
    const auto ends = [this, key, rival = rival, is_in_both] {
      pass_over(rival);
      if (!is_in_both) {
        cluster_.engine().give_up({key.first, key.second, rivals});
        return cluster_.want_view();
      }
      // Its members have had that end, and call no more for this one.
      const auto end = cluster_.engine().early_end_of(rival);
      end == collectives::Why::lost ? abort(key, status_of(*end)) : withdraw(key);
    };
    if (node == cluster_.self()) {
      ends();
      continue;
    }
    cluster_.send(node, RequestType::rival, encode(Rival{rival.first, rival.second, key.first, key.second}),
                  [ends](pmix_status_t status, Bytes body) {
                    const auto said =
                        status == PMIX_SUCCESS ? base::decode<RivalReply>(body) : weft::fail(Errc::not_found);
                    if (said && said->outcome == RivalReply::Outcome::ends) ends();
                  });
  }
}

void Exchanges::go_over(const Key& key) {
  gone_over_.add(key, {});
}

void Exchanges::pass_over(const Key& key) {
  const auto* known = passed_.find(key.first);
  passed_.add(key.first, known == nullptr ? key.second : std::max(*known, key.second));
}

/// The part of this node in what ends as rivals was not sent, and is not.
void Exchanges::refuse_passed(const Participants& procs) {
  const auto* passed = passed_.find(procs.signature());
  if (passed == nullptr) return;
  const auto begun = attempts(procs);
  const auto end = std::min<collectives::Generation>(*passed, begun + most_rivals);  // more is damage
  signatures_.use(procs);
  for (auto next = begun; next < end; ++next)
    static_cast<void>(cluster_.engine().refuse(procs.signature(), jobs_.nodes_of(procs), rivals, nullptr,
                                               procs.after_loss()));
  passed_.erase(procs.signature());
}

Result<Exchanges::Key> Exchanges::begin(const Participants& procs, bool collect, Blob contribution,
                                        Ended ended) {
  auto members = jobs_.nodes_of(procs);
  const auto self = std::lower_bound(members.begin(), members.end(), cluster_.self());
  if (self == members.end() || *self != cluster_.self())
    return fail(Errc::not_found, "a participant is not known");
  refuse_passed(procs);
  signatures_.use(procs);
  const auto key = std::make_shared<Key>(procs.signature(), 0);
  const auto on_end = [this, key, members, ended = std::move(ended)](const collectives::Outcome& outcome) {
    open_.erase(*key);
    const bool has_data = !outcome.why && !outcome.is_without_data;
    std::vector<Part> others;
    for (std::size_t i = 0; has_data && i < outcome.contributions.size(); ++i)
      if (members[i] != cluster_.self()) others.push_back({members[i], outcome.contributions[i]});
    const auto status = outcome.why ? status_of(*outcome.why) : PMIX_SUCCESS;
    ended({status, outcome.why == rivals, std::move(others), outcome.lost, outcome.is_without_data});
  };
  const auto generation = cluster_.engine().begin(
      procs.signature(), collect ? collectives::Kind::exchange : collectives::Kind::barrier, members,
      std::move(contribution), on_end, procs.after_loss());
  if (!generation) return fail(generation.error());
  pace_of(cluster_).stay_awake();
  key->second = *generation;
  open_.insert_or_assign(*key, Open{procs, std::move(members), loop_.now()});
  ask_for_dead(*key);
  return *key;
}

void Exchanges::ask_for_dead(const Key& key) {
  const auto fence = open_.find(key);
  if (fence == open_.end()) return;
  const auto procs = fence->second.procs;
  std::set<NodeNumber> nodes;
  for (const auto& [nspace, rank] : dead_) {
    const auto proc = link::make_proc(nspace, rank);
    if (!events::covers(procs.procs(), proc)) continue;
    for (const auto node : jobs_.nodes_of({proc})) nodes.insert(node);
  }
  for (const auto node : nodes) ask(question_about(procs, key.second), node, nullptr);
}

std::uint64_t Exchanges::attempts_of(const collectives::Signature& signature) const {
  return cluster_.is_open() ? cluster_.engine().generations().begun(signature) : 0;
}

std::uint64_t Exchanges::attempts(const Participants& procs) const {
  return attempts_of(procs.signature());
}

void Exchanges::give_up(const Key& key, pmix_status_t why) {
  cluster_.engine().give_up({key.first, key.second, why_of(why)});
  cluster_.want_view();
}

void Exchanges::abort(const Key& key, pmix_status_t why) {
  cluster_.engine().abort(key.first, key.second, why_of(why));
}

void Exchanges::withdraw(const Key& key) {
  cluster_.engine().abort(key.first, key.second, rivals);
}

Result<Exchanges::Key> Exchanges::refuse(const Participants& procs, pmix_status_t why, Ended ended) {
  collectives::Done on_end;
  if (ended)
    on_end = [why, ended = std::move(ended)](const collectives::Outcome& outcome) {
      const auto said = outcome.why.value_or(collectives::Why::canceled);
      ended({said == why_of(why) ? why : status_of(said), said == rivals, {}, outcome.lost, false});
    };
  signatures_.use(procs);
  const auto generation = cluster_.engine().refuse(procs.signature(), jobs_.nodes_of(procs), why_of(why),
                                                   std::move(on_end), procs.after_loss());
  if (!generation) return fail(generation.error());
  pace_of(cluster_).stay_awake();
  return Key{procs.signature(), *generation};
}

bool Exchanges::process_died(const pmix_proc_t& proc) {
  if (!dead_.emplace(link::nspace_of(proc), proc.rank).second) return false;
  const auto where = jobs_.nodes_of({proc});
  for (const auto& [key, fence] : open_)
    if (!where.empty() && cluster_.servers().is_there(where.front()) &&
        events::covers(fence.procs.procs(), proc))
      ask(question_about(fence.procs, key.second), where.front(), nullptr);
  return true;
}

bool Exchanges::is_dead(const pmix_proc_t& proc) const {
  return dead_.count({std::string(link::nspace_of(proc)), proc.rank}) != 0;
}

std::vector<Exchanges::Key> Exchanges::open_with(std::string_view nspace) const {
  std::vector<Key> out;
  for (const auto& [key, open] : open_) {
    const Procs& procs = open.procs.procs();
    const auto is_its = [&](const pmix_proc_t& proc) { return link::is_of(proc, nspace); };
    const bool is_any = std::any_of(procs.begin(), procs.end(), is_its);
    if (is_any && !std::all_of(procs.begin(), procs.end(), is_its)) out.push_back(key);
  }
  return out;
}

bool Exchanges::is_of_group(const Key& key) const {
  using Kind = OperationName::Kind;
  const auto found = open_.find(key);
  if (found == open_.end()) return false;
  const auto kind = found->second.procs.operation().kind;
  return kind == Kind::group_fence || kind == Kind::destruct;
}

void Exchanges::forget(std::string_view nspace) {
  std::erase_if(dead_, [&](const auto& proc) { return proc.first == nspace; });
  signatures_.end_namespace(nspace);
}

FenceName Exchanges::name_of(const Participants& procs, collectives::Generation generation) {
  return {runs_of(procs), generation, procs.operation(),
          procs.after_loss() == collectives::AfterLoss::goes_on};
}

/// A node that takes part for a process that has died takes part in the attempt among all: it has the same
/// ends of that and of those that follow as the other nodes. So it knows by its count that it has been in it,
/// and that a question which comes late is none about another one.
FenceName Exchanges::question_about(const Participants& procs, collectives::Generation generation) {
  return procs.begun_as() ? *procs.begun_as() : name_of(procs, generation);
}

/// A node that cannot take part ends the fence by itself.
void Exchanges::ask(const FenceName& name, NodeNumber node, std::function<void(const FencePart*)> then) {
  cluster_.send(node, name.operation.is_fence() ? RequestType::fence_part : RequestType::group_part,
                encode(name), [then = std::move(then)](pmix_status_t status, Bytes body) {
                  if (!then) return;
                  const auto reply = status == PMIX_SUCCESS ? decode<PartReply>(body) : fail(Errc::not_found);
                  then(reply && reply->part ? &*reply->part : nullptr);
                });
}

void Exchanges::describe(const Key& key, FencePart& part) const {
  if (const auto fence = open_.find(key); fence != open_.end()) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - fence->second.since);
    part.age_ms = std::max(part.age_ms, static_cast<std::uint64_t>(age.count()));
  }
  for (auto& open : cluster_.engine().open()) {
    if (open.signature != key.first || open.generation != key.second) continue;
    part.collects = open.kind == collectives::Kind::exchange;
    part.algorithm = std::move(open.algorithm);
    part.waits_for = std::move(open.waits_for);
  }
}

}  // namespace weft::server
