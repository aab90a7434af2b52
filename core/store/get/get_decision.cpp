// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/get_decision.hpp"

namespace weft::store {
namespace {

using About = GetFacts::About;
using Lookup = GetFacts::Lookup;
using Where = GetFacts::Where;

/// A key that no commit of one named rank will bring: only the caller's own deadline makes it wait.
GetStep wait_if_asked_to(const GetFacts& facts) noexcept {
  if (!facts.has_timeout || facts.immediate) return GetStep::not_found;
  return facts.late ? GetStep::timed_out : GetStep::wait_for_key;
}

/// Some rank will put it, or has put it and a fence has yet to bring it.
GetStep wait_for_any_rank(const GetFacts& facts) noexcept {
  if (facts.has_timeout || facts.immediate) return wait_if_asked_to(facts);
  return facts.late || !facts.waits_for_keys ? GetStep::not_found : GetStep::wait_for_key;
}

/// The rank exists, and asking further servers helps no more.
GetStep decide_by_state(const GetFacts& facts) noexcept {
  if (facts.ended) return facts.committed ? GetStep::not_found : GetStep::unreachable;
  if (facts.immediate) return GetStep::not_found;
  if (facts.late) return facts.has_timeout ? GetStep::timed_out : GetStep::not_found;
  if (!facts.committed) return GetStep::wait_for_commit;
  if (facts.has_timeout) return GetStep::wait_for_key;
  const bool is_complete = facts.exchanged || facts.refresh;
  return is_complete || !facts.waits_for_keys ? GetStep::not_found : GetStep::wait_for_key;
}

}  // namespace

GetStep decide_get(const GetFacts& facts) noexcept {
  const bool may_ask_about_card =
      facts.where == Where::elsewhere && facts.can_ask && !facts.asked && !facts.reserved && !facts.late;
  if (may_ask_about_card && facts.refresh) return GetStep::ask;
  if (facts.lookup == Lookup::hit) return GetStep::value;
  if (facts.lookup == Lookup::hidden) return facts.names_scope ? GetStep::outside_scope : GetStep::not_found;
  if (facts.own && !facts.reserved) return GetStep::not_found;
  if (!facts.sees_jobs) return facts.can_ask ? GetStep::ask : GetStep::not_found;
  if (facts.optional) return GetStep::not_found;
  if (facts.where == Where::unknown_job) {
    if (facts.late && facts.has_timeout) return GetStep::timed_out;
    return facts.can_ask ? GetStep::ask : GetStep::not_found;
  }
  if (facts.kept_afar && facts.can_ask && !facts.asked && !facts.immediate && !facts.late)
    return GetStep::ask;
  if (facts.about == About::any_rank && !facts.reserved) return wait_for_any_rank(facts);
  if (facts.about != About::rank) return wait_if_asked_to(facts);
  if (facts.where == Where::no_such_rank || facts.reserved) return GetStep::not_found;
  if (facts.where == Where::elsewhere && !facts.asked && !facts.late)
    return facts.can_ask ? GetStep::ask : GetStep::not_found;
  return decide_by_state(facts);
}

pmix_status_t status_of(GetStep step) noexcept {
  switch (step) {
    case GetStep::value:
      return PMIX_SUCCESS;
    case GetStep::not_found:
      return PMIX_ERR_NOT_FOUND;
    case GetStep::outside_scope:
      return PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
    case GetStep::unreachable:
      return PMIX_ERR_UNREACH;
    case GetStep::timed_out:
      return PMIX_ERR_TIMEOUT;
    case GetStep::ask:
    case GetStep::wait_for_commit:
    case GetStep::wait_for_key:
      break;
  }
  return PMIX_ERROR;
}

GetFacts facts_of(std::uint32_t rank, std::string_view key, const GetDirectives& how) noexcept {
  GetFacts facts;
  if (how.realm || rank == PMIX_RANK_WILDCARD)
    facts.about = About::job_level;
  else if (rank == PMIX_RANK_UNDEF)
    facts.about = About::any_rank;
  facts.reserved = is_reserved(key);
  facts.optional = how.optional || key.empty();
  facts.immediate = how.immediate;
  facts.refresh = how.refresh;
  facts.has_timeout = how.timeout.has_value();
  facts.names_scope = how.scope != PMIX_SCOPE_UNDEF;
  return facts;
}

GetFacts facts_of(const JobView& job, std::uint32_t rank, std::string_view key,
                  const GetDirectives& how) noexcept {
  auto facts = facts_of(rank, key, how);
  facts.sees_jobs = job.cards().has_local() || facts.about != About::any_rank;
  if (facts.reserved) {
    const auto node = node_of_get(job, rank, how);
    facts.kept_afar = node != none && node != job.my_node();
  }
  facts.where = Where::no_such_rank;
  if (rank >= job.ranks()) return facts;
  const auto index = job.local_index(rank);
  if (index == none) {
    facts.where = Where::elsewhere;
    facts.committed = job.cards().remote_link(rank) != 0;
    facts.exchanged = job.cards().is_exchanged(rank);
    return facts;
  }
  facts.where = Where::here;
  facts.sees_jobs = job.cards().has_local();
  if (how.optional || !facts.sees_jobs)
    return facts;  // such a Get ends, or is asked of the server, before what the rank has done matters
  // The state first: a rank commits before it ends, so one that is seen to have ended has its last commit
  // seen, too.
  const auto state = job.local(index).state.load(std::memory_order_acquire);  // LO.S2 <- S1
  facts.ended = state == Local::gone || state == Local::finalized;
  facts.committed = !job.cards().local(index).empty();
  return facts;
}

}  // namespace weft::store
