// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/gets.hpp"

#include <algorithm>
#include <utility>

#include "base/log_format.hpp"
#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/jobs/localities.hpp"
#include "core/store/cards/card.hpp"

namespace weft::server {

using store::GetFacts;
using store::GetStep;

namespace {

// Between requests to a host for a card that had not the key: each pause is twice the one before.
constexpr std::chrono::milliseconds first_pause{50}, longest_pause{1000};

/// Ranks that any local commit may be about.
bool is_any(const pmix_proc_t& proc) noexcept {
  return proc.rank == PMIX_RANK_UNDEF || proc.rank == PMIX_RANK_WILDCARD;
}

}  // namespace

Gets::Gets(Loop& loop, Jobs& jobs, Cards& cards, Cluster& cluster, std::chrono::milliseconds key_wait)
    : loop_(loop), jobs_(jobs), cards_(cards), far_keys_(jobs, cluster), key_wait_(key_wait) {
  cluster.on(RequestType::card, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto wanted = base::decode<CardMessage>(body);
    if (!wanted) return reply(PMIX_ERR_BAD_PARAM, {});
    // This node's launch may be behind the other's.
    jobs_.when_registered(wanted->nspace, [this, wanted = *wanted, reply] {
      card({link::make_proc(wanted.nspace, wanted.rank), wanted.from, wanted.beyond, wanted.waits},
           [reply](const CardReply& answer) {
             reply(answer.status, answer.status == PMIX_SUCCESS
                                      ? base::encode(CardMessageReply{answer.end, answer.card})
                                      : Blob());
           });
    });
  });
}

// ---- Gets

void Gets::get(Request request, Got done) {
  auto get = std::make_unique<Waiting>(Waiting{std::move(request), {}, std::move(done)});
  const auto how =
      store::GetDirectives::parse(get->request.directives.data(), get->request.directives.size());
  if (!how) return get->done(PMIX_ERR_BAD_PARAM, {});
  get->how = *how;
  if (auto* job = jobs_.find(link::nspace_of(get->request.proc)); job != nullptr) make_localities(*job);
  const auto number = next_++;
  waiting_.emplace(number, std::move(get));
  go_on(number);
  if (const auto open = waiting_.find(number); open != waiting_.end() && how->timeout)
    arm(number, *open->second, *how->timeout);
}

void Gets::drop(const void* requester) {
  std::erase_if(waiting_,
                [requester](const auto& open) { return open.second->request.requester == requester; });
}

std::vector<Gets::Awaited> Gets::open_of(const void* requester) const {
  std::vector<Awaited> out;
  for (const auto& [number, open] : waiting_)
    if (open->request.requester == requester) out.push_back({open->request.proc, open->request.key});
  return out;
}

/// Decides the Get, and does what the decision says. The Get may have ended when this returns.
void Gets::go_on(Number number) {
  const auto open = waiting_.find(number);
  if (open == waiting_.end()) return;
  auto& get = *open->second;
  store::Encoded value;
  const auto step = decide(get, value);
  if (is_end(step)) return end(number, status_of(step), std::move(value));
  if (step == GetStep::ask) return fetch(number, get);
  const auto limit = key_wait_of(get);
  if (step == GetStep::wait_for_key && !get.how.timeout && !get.timer && limit != store::KeyWait::forever)
    arm(number, get, limit);
  wait(number, get);
}

GetStep Gets::decide(const Waiting& get, store::Encoded& value) const {
  const auto& [proc, key, directives, caller, is_of_host, requester] = get.request;
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (job == nullptr) {
    auto facts = store::facts_of(proc.rank, key, get.how);
    facts.can_ask = cards_.host_brings() && !is_of_host && !get.how.immediate && !get.has_asked_for_job;
    facts.late = get.is_late;
    return decide_get(facts);
  }
  auto facts = store::facts_of(job->view(), proc.rank, key, get.how);
  auto found = store::lookup_encoded(job->view(), proc.rank, key, get.how, caller);
  if (found) {
    facts.lookup = GetFacts::Lookup::hit;
    value = std::move(*found);
  } else if (found.error().code == Errc::outside_scope) {
    facts.lookup = GetFacts::Lookup::hidden;
  }
  if (!found && get.how.realm == store::Realm::session && get.how.session && find_in_sessions(get, value))
    facts.lookup = GetFacts::Lookup::hit;
  facts.own = caller.same_job && caller.rank == proc.rank;
  facts.committed |= get.end != 0;
  facts.asked = get.was_asked;
  facts.late = get.is_late;
  const bool host_brings = cards_.host_brings();
  facts.can_ask = facts.reserved ? far_keys_.can_ask() && !host_brings && !is_of_host
                                 : facts.where == GetFacts::Where::elsewhere &&
                                       !(host_brings && (get.how.immediate || is_of_host));
  facts.waits_for_keys = !is_of_host && key_wait_of(get) != std::chrono::milliseconds(0);
  return decide_get(facts);
}

/// A session may have been registered with another job than the one that the Get names.
bool Gets::find_in_sessions(const Waiting& get, store::Encoded& value) const {
  bool is_found = false;
  jobs_.each([&](const Job& job) {
    if (is_found) return;
    const auto found = store::lookup_in_session(job.view(), *get.how.session, get.request.key);
    data::Writer out;
    if (!found || !data::encode_value(out, found->get())) return;
    value = std::move(out).take();
    is_found = true;
  });
  return is_found;
}

void Gets::fetch(Number number, Waiting& get) {
  if (std::exchange(get.is_asking, true)) return;
  if (const auto* job = jobs_.find(link::nspace_of(get.request.proc));
      job != nullptr && store::is_reserved(get.request.key))
    return ask_far_node(number, *job, get);
  auto directives = data::Infos::copy_of(get.request.directives.data(), get.request.directives.size());
  if (!directives) return end(number, PMIX_ERR_NOMEM, {});
  const auto until = get.how.immediate ? Until::now : Until::commit;
  auto proc = get.request.proc;
  get.fetches_job = jobs_.find(link::nspace_of(proc)) == nullptr;
  if (get.fetches_job) proc.rank = PMIX_RANK_WILDCARD;  // the namespace first
  get.has_asked_for_job |= get.fetches_job;
  cards_.fetch(proc, {get.request.key, std::move(*directives), until},
               [this, number](const Fetched& fetched) { on_fetched(number, fetched); });
}

void Gets::ask_far_node(Number number, const Job& job, const Waiting& get) {
  const auto& proc = get.request.proc;
  far_keys_.ask(store::node_of_get(job.view(), proc.rank, get.how),
                {job.nspace, proc.rank, get.request.key, get.how.realm.has_value()},
                [this, number](pmix_status_t status, store::Encoded value) {
                  const auto open = waiting_.find(number);
                  if (open == waiting_.end()) return;
                  if (status == PMIX_SUCCESS) return end(number, status, std::move(value));
                  open->second->is_asking = false;
                  open->second->was_asked = true;
                  go_on(number);
                });
}

void Gets::wait(Number number, Waiting& get) {
  const auto& proc = get.request.proc;
  const auto* job = jobs_.find(link::nspace_of(proc));
  const bool is_elsewhere = !is_any(proc) && job->view().local_index(proc.rank) == store::none;
  if (is_elsewhere) {
    if (get.is_asking) return;
    if (cards_.host_brings()) return ask_host_again(number, get);
    get.is_asking = true;
    return cards_.await_more(proc, get.end,
                             [this, number](const Fetched& fetched) { on_fetched(number, fetched); });
  }
  if (std::exchange(get.is_watching, true)) return;
  base::debug(base::LogPart::gets, "a Get of {} of rank {} of {} waits for a commit",
              get.request.key.empty() ? "everything" : get.request.key, proc.rank, link::nspace_of(proc));
  watch(proc, true);
  go_on(number);  // the rank may have committed before it was watched
}

/// The host has brought the card as it was, without the key, and cannot be told to wait for more: it is asked
/// from time to time.
void Gets::ask_host_again(Number number, Waiting& get) {
  if (get.again) return;
  get.pause = get.pause.count() == 0 ? first_pause : std::min(2 * get.pause, longest_pause);
  get.again = std::make_unique<Timer>(loop_, get.pause, [this, number, &get] {
    get.again.reset();
    fetch(number, get);
  });
}

void Gets::on_fetched(Number number, const Fetched& fetched) {
  const auto open = waiting_.find(number);
  if (open == waiting_.end()) return;
  auto& get = *open->second;
  get.is_asking = false;
  if (fetched.status != PMIX_SUCCESS) return end(number, fetched.status, {});
  if (!std::exchange(get.fetches_job, false)) {
    get.was_asked = true;
    get.end = std::max(get.end, fetched.end);
    if (!fetched.unkept.empty() && !get.request.key.empty())
      if (auto value = find_in(fetched.unkept, get.request.proc.rank, get.request.key, get.how))
        return end(number, PMIX_SUCCESS, std::move(*value));
  }
  go_on(number);
}

void Gets::arm(Number number, Waiting& get, std::chrono::milliseconds time) {
  get.timer = std::make_unique<Timer>(loop_, time, [this, number, &get] {
    get.is_late = true;
    go_on(number);
  });
}

void Gets::end(Number number, pmix_status_t status, store::Encoded value) {
  const auto ended = waiting_.extract(number);
  ended.mapped()->done(status, std::move(value));
}

std::chrono::milliseconds Gets::key_wait_of(const Waiting& get) const {
  return get.how.key_wait ? store::KeyWait::unpack(*get.how.key_wait) : key_wait_;
}

// ---- cards for other nodes

void Gets::card(const CardRequest& request, std::function<void(CardReply)> done) {
  const auto number = next_++;
  waiting_cards_.emplace(number, WaitingCard{request, std::move(done)});
  if (go_on_with_card(number)) return;
  watch(request.proc, true);
  go_on_with_card(number);  // the rank may have committed before it was watched
}

/// False: it has to wait.
bool Gets::go_on_with_card(Number number) {
  const auto& request = waiting_cards_.at(number).request;
  const auto* job = jobs_.find(link::nspace_of(request.proc));
  auto facts = job != nullptr ? store::facts_of(job->view(), request.proc.rank, {}, {})
                              : store::facts_of(request.proc.rank, {}, {});
  facts.optional = false;
  facts.has_timeout = true;  // the requester bounds it
  facts.immediate = !request.waits;
  CardReply reply{PMIX_SUCCESS, 0, {}};
  if (facts.where == GetFacts::Where::here) {
    const auto card = job->view().cards().local(job->view().local_index(request.proc.rank));
    reply.end = card.published();
    if (reply.end > request.beyond) facts.lookup = GetFacts::Lookup::hit;
    store::BlobWriter blob;
    if (facts.lookup == GetFacts::Lookup::hit) {
      const auto added = blob.add(job->nspace, request.proc.rank, card, request.from);
      if (!added)
        reply.status = added.error().code == Errc::no_space ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_INVALID_VAL;
      reply.card = std::move(blob).finish();
    }
  }
  const auto step = decide_get(facts);
  if (!is_end(step)) return false;
  if (step != GetStep::value) reply = {status_of(step), reply.end, {}};
  const auto ended = waiting_cards_.extract(number);
  ended.mapped().done(std::move(reply));
  return true;
}

// ---- what changes

void Gets::retry_numbers(const std::function<bool(const pmix_proc_t&)>& concerns) {
  // By number: a Get that ends runs its done, which may begin or end others.
  std::vector<Number> gets, cards;
  for (const auto& [number, get] : waiting_)
    if (concerns(get->request.proc)) gets.push_back(number);
  for (const auto& [number, card] : waiting_cards_)
    if (concerns(card.request.proc)) cards.push_back(number);
  for (const auto number : gets) go_on(number);
  for (const auto number : cards)
    if (waiting_cards_.count(number) != 0) go_on_with_card(number);
}

void Gets::retry(const pmix_proc_t& about) {
  const auto concerns = [&](const pmix_proc_t& proc) {
    return link::nspace_of(proc) == link::nspace_of(about) && (proc.rank == about.rank || is_any(proc));
  };
  retry_numbers(concerns);
  const bool waits = std::any_of(waiting_.begin(), waiting_.end(),
                                 [&](const auto& open) { return concerns(open.second->request.proc); }) ||
                     std::any_of(waiting_cards_.begin(), waiting_cards_.end(),
                                 [&](const auto& open) { return concerns(open.second.request.proc); });
  if (!waits) watch(about, false);
}

void Gets::retry_all(std::string_view nspace) {
  retry_numbers([&](const pmix_proc_t& proc) { return link::nspace_of(proc) == nspace; });
}

/// Has commits of a local rank told, or of all where any may bring the key.
void Gets::watch(const pmix_proc_t& proc, bool on) {
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (job == nullptr) return;
  const auto& view = job->view();
  const auto index = view.local_index(proc.rank);
  if (index == store::none && !is_any(proc)) return;
  const auto first = is_any(proc) ? 0 : index, past = is_any(proc) ? view.local_count() : index + 1;
  for (auto i = first; i < past; ++i) view.local(i).watched.store(on ? 1 : 0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C2 <-> C1: then look at the card
}

}  // namespace weft::server
