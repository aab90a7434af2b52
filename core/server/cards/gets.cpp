// SPDX-License-Identifier: BSD-3-Clause
// Gets that a client could not answer from the segment, and direct modex in both directions.
//
// A parked Get waits for one of: a commit of its rank (a watched card's notice), the end of its rank, the host's
// answer, its deadline. Nothing is polled.
#include <algorithm>
#include <set>
#include <utility>

#include "core/server/server.hpp"
#include "core/store/card.hpp"

namespace weft::server {

using store::Local;

void Server::serve_get(std::unique_ptr<ParkedGet> get) {
  if (auto verdict = try_get(*get))
    return get->done(verdict->status, std::move(verdict->value), std::move(verdict->blob));
  park(std::move(get));
}

/// The whole card of a local rank, for another node: as soon as there is one.
void Server::serve_card(const pmix_proc_t& proc, std::function<void(pmix_status_t, Blob)> done) {
  auto get = std::make_unique<ParkedGet>();
  get->proc = proc;
  get->done = [done = std::move(done)](pmix_status_t status, data::Value, Blob blob) {
    done(status, std::move(blob));
  };
  serve_get(std::move(get));
}

/// A Get without a key, of a client that cannot look into the segment itself.
void Server::get_everything(const SessionRef& session, std::uint64_t tag, const pmix_proc_t& proc) {
  const auto* job = find_job(link::nspace_of(proc));
  const store::Asker asker{link::nspace_of(session->proc) == link::nspace_of(proc), session->proc.rank};
  auto all = job != nullptr && job->writer ? store::lookup_all(job->view(), proc.rank, asker)
                                           : fail(Errc::not_found);
  const auto status = all ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
  session->send(link::MessageType::value, tag,
                link::encode(link::GotValue{status, all ? std::move(*all) : data::Value()}));
}

/// The answer if there is one now; nothing if it has to wait. Starts a fetch where another node has the card.
std::optional<Server::Verdict> Server::try_get(ParkedGet& get) {
  const auto says = [](pmix_status_t status) {
    return std::optional<Verdict>(std::in_place, status, data::Value(), Blob());
  };
  auto* job = find_job(link::nspace_of(get.proc));
  if (job == nullptr || !job->writer) return says(PMIX_ERR_NOT_FOUND);
  const auto& view = job->view();
  const bool whole_card = get.key.empty();
  // Here is nothing to refresh: what lies on this node is read where it is written.
  const bool again = get.how.refresh && !get.fetched && get.proc.rank < view.ranks() &&
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
    if (whole_card || get.fetched) return says(PMIX_ERR_NOT_FOUND);
    if (module_.direct_modex == nullptr && !modex_) return says(PMIX_ERR_NOT_SUPPORTED);
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

void Server::park(std::unique_ptr<ParkedGet> get) {
  auto& parked = *get;
  parked_.push_back(std::move(get));
  if (parked.how.timeout) {
    parked.timer = std::make_unique<asio::steady_timer>(loop_, *parked.how.timeout);
    parked.number = next_parked_++;
    parked.timer->async_wait([this, number = parked.number](const std::error_code& error) {
      const auto is_it = [&](const auto& open) { return open->number == number; };
      const auto place = std::find_if(parked_.begin(), parked_.end(), is_it);
      if (error || place == parked_.end()) return;  // answered meanwhile
      auto late = std::move(*place);
      parked_.erase(place);
      late->done(PMIX_ERR_TIMEOUT, {}, {});
    });
  }
  const auto proc = parked.proc;
  auto* job = find_job(link::nspace_of(proc));
  if (job != nullptr && job->writer && proc.rank < job->view().ranks() &&
      job->view().local_index(proc.rank) == store::none && !parked.fetched)
    return fetch(proc, {});
  watch(proc, true);
  retry_gets(proc);  // it may have committed before it was watched
}

/// Something about `about` changed: answer what can be answered now.
void Server::retry_gets(const pmix_proc_t& about) {
  bool waiting = false;
  for (auto place = parked_.begin(); place != parked_.end();) {
    auto& get = **place;
    const bool concerns = link::nspace_of(get.proc) == link::nspace_of(about) &&
                          (get.proc.rank == about.rank || get.proc.rank == PMIX_RANK_UNDEF ||
                           get.proc.rank == PMIX_RANK_WILDCARD);
    auto verdict = concerns ? try_get(get) : std::nullopt;
    if (!verdict) {
      waiting |= concerns;
      ++place;
      continue;
    }
    auto answered = std::move(*place);
    place = parked_.erase(place);
    answered->done(verdict->status, std::move(verdict->value), std::move(verdict->blob));
  }
  if (!waiting) watch(about, false);
}

void Server::retry_gets_of(std::string_view nspace) {
  std::set<std::uint32_t> ranks;
  for (const auto& get : parked_)
    if (link::nspace_of(get->proc) == nspace) ranks.insert(get->proc.rank);
  for (const auto rank : ranks) retry_gets(link::make_proc(nspace, rank));
}

void Server::watch(const pmix_proc_t& proc, bool on) {
  auto* job = find_job(link::nspace_of(proc));
  if (job == nullptr || !job->writer) return;
  const auto& view = job->view();
  const bool any =
      proc.rank == PMIX_RANK_UNDEF || proc.rank == PMIX_RANK_WILDCARD;  // whoever commits may bring it
  const auto index = view.local_index(proc.rank);
  if (index == store::none && !any) return;
  for (std::uint32_t i = any ? 0 : index; i < (any ? view.local_count() : index + 1); ++i)
    view.local(i).watched.store(on ? 1 : 0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C2 <-> C1: then look at the card
}

/// For who is parked: brings the card of a rank on another node. Concurrent Gets of one card share the question.
void Server::fetch(const pmix_proc_t& proc, const data::Infos& directives) {
  const auto name = std::pair(std::string(link::nspace_of(proc)), proc.rank);
  if (!fetching_.insert(name).second) return;
  const auto fetched = [this, proc, name](pmix_status_t status) {
    fetching_.erase(name);
    for (auto place = parked_.begin(); place != parked_.end();) {
      auto& get = **place;
      if (link::nspace_of(get.proc) != name.first || get.proc.rank != proc.rank) {
        ++place;
        continue;
      }
      get.fetched = true;
      auto verdict = status == PMIX_SUCCESS ? try_get(get) : Verdict{status, {}, {}};
      if (!verdict) {  // a deadline lets it wait for more than this card
        ++place;
        continue;
      }
      auto answered = std::move(*place);
      place = parked_.erase(place);
      answered->done(verdict->status, std::move(verdict->value), {});
    }
  };
  fetch_card(proc, directives, fetched);
}

/// By the host where it has direct_modex, else by ourselves. directives: for the host.
void Server::fetch_card(const pmix_proc_t& proc, const data::Infos& directives, Done done) {
  if (module_.direct_modex == nullptr) {
    if (!modex_) return done(PMIX_ERR_NOT_SUPPORTED);
    const auto nodes = nodes_of({proc});
    return modex_->fetch(nodes.empty() ? self_.rank : nodes.front(), proc, std::move(done));
  }
  using Fetch = Upcall<Blob>;
  const auto on_blob = [this, done = std::move(done)](pmix_status_t status, const Blob& blob) {
    done(status == PMIX_SUCCESS ? take_blobs(blob) : status);
  };
  const pmix_proc_t target = proc;
  Fetch::make(upcalls_, on_blob, [&](void* open) {
    const auto answered = [](pmix_status_t status, const char* data, std::size_t bytes, void* pointer,
                             pmix_release_cbfunc_t release, void* release_data) {
      const auto* from = reinterpret_cast<const std::byte*>(data);
      Blob copy = data == nullptr ? Blob() : Blob(from, from + bytes);
      if (release != nullptr) release(release_data);
      Fetch::finish_from_host(pointer, status, std::move(copy));
    };
    return module_.direct_modex(&target, directives.data(), directives.size(), answered, open);
  });
}

/// A local rank's question in its FetchCell. PMIX_OPERATION_SUCCEEDED: nothing was read, since there is something that the
/// asker has not seen. A host that brings cards itself is asked by message.
void Server::answer_fetch(Job& job, std::uint32_t local) {
  auto& cell = job.writer->fetch_cell(local);
  const auto [number, rank, seen] = cell.question();
  if (number == 0 || std::exchange(job.fetching[local], number) == number) return;
  if (module_.direct_modex != nullptr || !modex_) return cell.answer(number, PMIX_ERR_NOT_SUPPORTED);
  if (seen != store::FetchCell::anything && seen != job.view().remote_link(rank))
    return cell.answer(number, PMIX_OPERATION_SUCCEEDED);
  const auto proc = link::make_proc(job.nspace, rank);
  const auto nodes = nodes_of({proc});
  if (nodes.empty() || nodes.front() == self_.rank) return cell.answer(number, PMIX_ERR_NOT_FOUND);
  modex_->fetch(nodes.front(), proc, [this, nspace = job.nspace, local, n = number](pmix_status_t status) {
    if (auto* open = find_job(nspace); open != nullptr && open->writer)
      open->writer->fetch_cell(local).answer(n, status);
  });
}

/// Cards of other nodes, from a fence or a fetch: appended for every client of this node. What came before a malformed
/// byte, or before the segment was full, is good; whoever waited for the whole is told that it is not. behind: as for
/// take_card.
pmix_status_t Server::take_blobs(Bytes blobs, Procs* behind) {
  auto status = PMIX_SUCCESS;
  const auto seen = store::read_cards(blobs, [&](const store::Card& card) {
    if (const auto taken = take_card(card, behind); taken != PMIX_SUCCESS) status = taken;
  });
  return seen ? status : PMIX_ERR_UNPACK_FAILURE;
}

/// behind: gets the rank if something of its card that comes before this is missing here, which is no error then.
pmix_status_t Server::take_card(const store::Card& card, Procs* behind) {
  auto* job = find_job(card.nspace);
  if (job == nullptr || !job->writer || card.rank >= job->view().ranks()) return PMIX_SUCCESS;
  if (job->view().local_index(card.rank) != store::none) return PMIX_SUCCESS;  // ours: it lies in its card
  const auto added = job->writer->add_card(card);
  if (added) return PMIX_SUCCESS;
  if (added.error().code != Errc::again) return PMIX_ERR_OUT_OF_RESOURCE;
  if (behind == nullptr) return PMIX_ERR_UNPACK_FAILURE;
  behind->push_back(link::make_proc(card.nspace, card.rank));
  return PMIX_SUCCESS;
}

/// A commit of a client without a segment: the server is its card's writer.
void Server::commit_for(const SessionRef& session, link::Frame frame) {
  const auto message = link::decode<link::Store>(frame.payload);
  if (!message) return answer(session, frame.tag, PMIX_ERR_BAD_PARAM);
  auto card = session->job->view().card(session->local);
  // The first one: it wanted no segment, or could not map the one it was offered, and will not write itself.
  if (!session->card_is_ours) {
    if (!card.adopt()) return answer(session, frame.tag, PMIX_ERROR);
    session->card_is_ours = true;
    session->has_segment = false;
  }
  for (const auto& item : message->items) {
    const store::Record record{{store::Realm::rank, 0}, item.scope, item.key, item.value};
    if (!card.append(record)) return answer(session, frame.tag, PMIX_ERR_OUT_OF_RESOURCE);
  }
  answer(session, frame.tag, PMIX_SUCCESS);
  retry_gets(session->proc);
}

}  // namespace weft::server
