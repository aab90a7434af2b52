// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/gets.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/data/wire.hpp"
#include "core/store/card.hpp"

namespace weft::server {

using store::Local;

Gets::Gets(asio::io_context& loop, Jobs& jobs, Cards& cards, Cluster* cluster)
    : loop_(loop), jobs_(jobs), cards_(cards) {
  if (cluster == nullptr) return;
  cluster->rpc().on(RequestType::card, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto asked = base::decode<pmix_proc_t>(body);
    if (!asked) return reply(PMIX_ERR_BAD_PARAM, {});
    // This node's launch may be behind the other's.
    jobs_.when_registered(std::string(link::nspace_of(*asked)), [this, proc = *asked, reply] {
      whole_card(proc, [reply](pmix_status_t status, const Blob& card) { reply(status, card); });
    });
  });
}

void Gets::get(const pmix_proc_t& proc, std::string key, const store::GetDirectives& how, store::Asker asker,
               Got done) {
  auto get = std::make_unique<Waiting>();
  get->proc = proc;
  get->key = std::move(key);
  get->hostname = how.hostname;  // the caller's goes with its message
  get->how = how;
  get->how.hostname = get->hostname;
  get->asker = asker;
  get->done = [done = std::move(done)](pmix_status_t status, data::Value value, const Blob&) {
    done(status, std::move(value));
  };
  serve(std::move(get));
}

void Gets::whole_card(const pmix_proc_t& proc, std::function<void(pmix_status_t, Blob)> done) {
  auto get = std::make_unique<Waiting>();
  get->proc = proc;
  get->done = [done = std::move(done)](pmix_status_t status, const data::Value&, Blob blob) {
    done(status, std::move(blob));
  };
  serve(std::move(get));
}

void Gets::serve(std::unique_ptr<Waiting> get) {
  if (auto verdict = decide(*get))
    return get->done(verdict->status, std::move(verdict->value), std::move(verdict->blob));
  park(std::move(get));
}

/// The answer if there is one now; nothing if it has to wait. Starts a fetch where another node has the card.
std::optional<Gets::Verdict> Gets::decide(Waiting& get) {
  const auto says = [](pmix_status_t status) {
    return std::optional<Verdict>(std::in_place, status, data::Value(), Blob());
  };
  auto* job = jobs_.find(link::nspace_of(get.proc));
  if (job == nullptr) return says(PMIX_ERR_NOT_FOUND);
  const auto& view = job->view();
  const bool whole_card = get.key.empty();
  // Here is nothing to refresh: what lies on this node is read where it is written.
  const bool again = get.how.refresh && !get.is_fetched && get.proc.rank < view.ranks() &&
                     view.local_index(get.proc.rank) == store::none && !store::is_reserved(get.key);
  if (!whole_card && !again) {
    auto value = store::lookup(view, get.proc.rank, get.key, get.how, get.asker);
    if (value) return Verdict{PMIX_SUCCESS, std::move(*value), {}};
    if (value.error().code == Errc::outside_scope) return says(PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  }
  // A process cannot wait for itself.
  const bool own = !whole_card && get.asker.same_job && get.asker.rank == get.proc.rank;
  if (get.how.optional || own) return says(PMIX_ERR_NOT_FOUND);
  if (get.proc.rank == PMIX_RANK_UNDEF || get.proc.rank == PMIX_RANK_WILDCARD || get.how.realm)
    return get.how.timeout ? std::nullopt : says(PMIX_ERR_NOT_FOUND);
  if (get.proc.rank >= view.ranks()) return says(PMIX_ERR_NOT_FOUND);

  const auto index = view.local_index(get.proc.rank);
  if (index == store::none) {
    if (!whole_card && store::is_reserved(get.key))
      return says(PMIX_ERR_NOT_FOUND);  // the host said it, or nobody will
    if (whole_card || get.is_fetched) return says(PMIX_ERR_NOT_FOUND);
    if (!cards_.can_fetch()) return says(PMIX_ERR_NOT_SUPPORTED);
    return std::nullopt;
  }
  const bool committed = !view.card(index).empty();
  if (whole_card && committed) {
    store::BlobWriter blob;
    if (!blob.add(job->nspace, get.proc.rank, view.card(index))) return says(PMIX_ERR_INVALID_VAL);
    return Verdict{PMIX_SUCCESS, {}, std::move(blob).finish()};
  }
  if (!whole_card && store::is_reserved(get.key)) return says(PMIX_ERR_NOT_FOUND);  // nobody will put it
  const auto state = view.local(index).state.load(std::memory_order_acquire);
  if (state == Local::gone || state == Local::finalized)
    return says(committed ? PMIX_ERR_NOT_FOUND : PMIX_ERR_UNREACH);
  if (get.how.immediate || (committed && !get.how.timeout)) return says(PMIX_ERR_NOT_FOUND);
  return std::nullopt;
}

void Gets::park(std::unique_ptr<Waiting> get) {
  auto& parked = *get;
  waiting_.push_back(std::move(get));
  if (parked.how.timeout) {
    parked.timer = std::make_unique<asio::steady_timer>(loop_, *parked.how.timeout);
    parked.number = next_++;
    parked.timer->async_wait([this, number = parked.number](const std::error_code& error) {
      const auto is_it = [&](const auto& open) { return open->number == number; };
      const auto place = std::find_if(waiting_.begin(), waiting_.end(), is_it);
      if (error || place == waiting_.end()) return;  // answered meanwhile
      auto late = std::move(*place);
      waiting_.erase(place);
      late->done(PMIX_ERR_TIMEOUT, {}, {});
    });
  }
  const auto proc = parked.proc;
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (job != nullptr && proc.rank < job->view().ranks() &&
      job->view().local_index(proc.rank) == store::none && !parked.is_fetched)
    return fetch(proc);
  watch(proc, true);
  retry(proc);  // it may have committed before it was watched
}

/// Something about `about` changed: answer what can be answered now.
void Gets::retry(const pmix_proc_t& about) {
  bool waiting = false;
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    auto& get = **place;
    const bool concerns = link::nspace_of(get.proc) == link::nspace_of(about) &&
                          (get.proc.rank == about.rank || get.proc.rank == PMIX_RANK_UNDEF ||
                           get.proc.rank == PMIX_RANK_WILDCARD);
    auto verdict = concerns ? decide(get) : std::nullopt;
    if (!verdict) {
      waiting |= concerns;
      ++place;
      continue;
    }
    auto answered = std::move(*place);
    place = waiting_.erase(place);
    answered->done(verdict->status, std::move(verdict->value), std::move(verdict->blob));
  }
  if (!waiting) watch(about, false);
}

void Gets::retry_all(std::string_view nspace) {
  std::set<std::uint32_t> ranks;
  for (const auto& get : waiting_)
    if (link::nspace_of(get->proc) == nspace) ranks.insert(get->proc.rank);
  for (const auto rank : ranks) retry(link::make_proc(nspace, rank));
}

void Gets::watch(const pmix_proc_t& proc, bool on) {
  const auto* job = jobs_.find(link::nspace_of(proc));
  if (job == nullptr) return;
  const auto& view = job->view();
  const bool any =
      proc.rank == PMIX_RANK_UNDEF || proc.rank == PMIX_RANK_WILDCARD;  // whoever commits may bring it
  const auto index = view.local_index(proc.rank);
  if (index == store::none && !any) return;
  for (std::uint32_t i = any ? 0 : index; i < (any ? view.local_count() : index + 1); ++i)
    view.local(i).watched.store(on ? 1 : 0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C2 <-> C1: then look at the card
}

/// Brings the card of a rank on another node for the Gets that wait for it.
void Gets::fetch(const pmix_proc_t& proc) {
  cards_.fetch(proc, {}, [this, proc](pmix_status_t status) {
    for (auto place = waiting_.begin(); place != waiting_.end();) {
      auto& get = **place;
      if (!is_same(get.proc, proc)) {
        ++place;
        continue;
      }
      get.is_fetched = true;
      auto verdict = status == PMIX_SUCCESS ? decide(get) : Verdict{status, {}, {}};
      if (!verdict) {  // a deadline lets it wait for more than this card
        ++place;
        continue;
      }
      auto answered = std::move(*place);
      place = waiting_.erase(place);
      answered->done(verdict->status, std::move(verdict->value), {});
    }
  });
}

}  // namespace weft::server
