// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/exchange/card_exchange.hpp"

#include <algorithm>

#include "base/log_format.hpp"
#include "core/server/jobs/far_cards.hpp"
#include "core/server/jobs/members.hpp"
#include "core/store/cards/blob.hpp"
#include "core/store/cards/card.hpp"

namespace weft::server {

std::optional<Exchanges::Key> CardExchange::begin(const Participants& procs, Load load,
                                                  const data::Infos& directives, Ended done, Bytes along) {
  Collected cards;
  if (load.cards) {
    auto collected = collect(procs);
    if (!collected) {
      const auto status =
          collected.error().code == Errc::no_space ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_INVALID_VAL;
      base::warn(base::LogPart::fences, "a fence with data fails: {}. WEFT_FENCE=sparse fences without them",
                 status == PMIX_ERR_OUT_OF_RESOURCE ? "the cards of this node's ranks are more than 4 GiB"
                                                    : "a card of a rank of this node is damaged");
      if (is_ours()) static_cast<void>(exchanges_.refuse(procs, status, nullptr));
      done({status});
      return std::nullopt;
    }
    cards = std::move(*collected);
  }
  const auto on_end = [this, procs, load, sent = std::move(cards.sent), done](
                          pmix_status_t status, bool are_all, std::vector<Along> others_along = {}) {
    if (status == PMIX_SUCCESS) {
      mark_sent(procs, sent);
      load_came(procs, load, are_all);
    }
    done({.status = status, .along = std::move(others_along)});
  };
  if (!is_ours()) {
    by_host(procs, directives, bytes_of(procs, load, std::move(cards.blob)), on_end);
    return std::nullopt;
  }
  const bool is_first =
      procs.operation().is_fence() && is_whole_job(procs) && exchanges_.attempts(procs) == 0;
  const bool travels = load.is_any() || is_first || !along.empty();
  // Cards alone need no blob that says so: where contributions travel for something else, it is there even if
  // nothing is new.
  if (is_first || load.generated) cards.blob = bytes_of(procs, load, std::move(cards.blob));
  cards.blob.insert(cards.blob.end(), along.begin(), along.end());
  const auto key = exchanges_.begin(
      procs, travels, travels ? contribution(procs, cards.blob, is_first) : Blob(),
      [this, procs, load, is_first, on_end, done](const Exchanges::End& exchanged) {
        auto [status, is_rival, others, lost, is_without_data] = exchanged;
        if (lost || is_rival) return done({.status = status, .is_rival = is_rival, .lost = lost});
        // The cards are fetched when they are wanted.
        if (is_without_data) return done({.status = status, .is_without_data = true});
        bool nodes_disagree = status == PMIX_ERR_BAD_PARAM;
        Procs behind;
        std::vector<Along> others_along;
        for (std::size_t i = 0; status == PMIX_SUCCESS && i < others.size(); ++i) {
          auto taken = take(procs, others[i], behind);
          status = taken.status;
          if (!taken.along.empty()) others_along.push_back({others[i].node, std::move(taken.along)});
          nodes_disagree |= taken.load.generated != load.generated;
          if (is_first || load.generated) nodes_disagree |= taken.load.cards != load.cards;
        }
        if (nodes_disagree)
          return done(
              {.status = status == PMIX_SUCCESS ? PMIX_ERR_BAD_PARAM : status, .nodes_disagree = true});
        const auto ended = [on_end, others_along](pmix_status_t end) { on_end(end, true, others_along); };
        status == PMIX_SUCCESS ? fetch_missing(behind, ended) : ended(status);
      });
  if (key) return *key;
  done({PMIX_ERR_NOT_FOUND});
  return std::nullopt;
}

CardExchange::Kept CardExchange::kept() const {
  Kept out;
  jobs_.each([&out](const Job& job) {
    const auto& header = job.view().cards().remote().header();
    out.bytes += header.used.load(std::memory_order_relaxed);
    out.saved += header.saved.load(std::memory_order_relaxed);
  });
  return out;
}

// ---- what this node hands over

/// The records that the local ranks among `procs` committed since the last fence that sent it to all of them:
/// of this set, or of the whole job, which reaches every node that has a rank of it.
Result<CardExchange::Collected> CardExchange::collect(const Participants& participants) {
  const Procs& procs = participants;
  store::BlobWriter blob;
  Collected out;
  std::optional<Error> error;
  const bool is_one_job = link::nspace_of(procs.front()) == link::nspace_of(procs.back());  // they are sorted
  const auto* by_set = sent_by(participants);
  const auto* by_job = is_one_job && !is_whole_job(procs)
                           ? sent_by(Participants(whole_job(link::nspace_of(procs.front()))))
                           : nullptr;
  each_local(jobs_, procs, [&](const Job& job, std::uint32_t local) {
    if (error) return;
    const auto from = std::max(position(by_set, job, local), position(by_job, job, local));
    const auto to = blob.add(job.nspace, job.rank_of(local), job.view().cards().local(local), from);
    if (!to)
      error = to.error();
    else if (*to != from)
      out.sent.push_back({job.nspace, local, *to});
  });
  if (error) return fail(*error);
  if (!out.sent.empty()) out.blob = std::move(blob).finish();
  return out;
}

const CardExchange::Positions* CardExchange::sent_by(const Participants& procs) const {
  const auto found = sent_.find(procs.set());
  return found == sent_.end() ? nullptr : &found->second;
}

/// positions: null: nothing was sent by that set.
std::uint64_t CardExchange::position(const Positions* positions, const Job& job, std::uint32_t local) {
  if (positions == nullptr) return 0;
  const auto of_job = positions->find(job.nspace);
  return of_job != positions->end() && local < of_job->second.size() ? of_job->second[local] : 0;
}

void CardExchange::mark_sent(const Participants& procs, const std::vector<Sent>& sent) {
  if (sent.empty()) return;
  auto& positions = sent_[procs.set()];
  for (const auto& part : sent) {
    if (jobs_.find(part.nspace) == nullptr) continue;
    auto& of_job = positions[part.nspace];
    if (of_job.size() <= part.local) of_job.resize(part.local + 1);
    of_job[part.local] = std::max(of_job[part.local], part.position);
  }
}

/// Retries Gets, whose keys may have come; after a full fence of a whole job nothing of its cards is
/// outstanding.
void CardExchange::load_came(const Procs& procs, Load load, bool are_all) {
  if (!load.is_any()) return;
  std::string_view before;
  for (const auto& proc : procs) {  // they are sorted
    const auto nspace = link::nspace_of(proc);
    if (nspace == before) continue;
    before = nspace;
    auto* job = jobs_.find(nspace);
    if (job == nullptr) continue;
    if (load.cards && are_all && is_whole_job(procs)) job->writer->mark_exchanged();
    gets_.retry_all(nspace);
  }
}

void CardExchange::forget(const std::string& nspace) {
  for (auto& [signature, positions] : sent_) positions.erase(nspace);
  std::erase_if(sent_, [](const auto& set) { return set.second.empty(); });
}

/// The first fence of a whole job tells all nodes where the cards lie, so that the first direct modex needs
/// no request.
Blob CardExchange::contribution(const Procs& procs, const Blob& cards, bool is_first) {
  const auto place = is_first ? cards_.modex()->place(link::nspace_of(procs[0])) : Blob();
  auto packed = packer_.pack({place, cards});
  if (auto* const job = is_first ? jobs_.find(link::nspace_of(procs[0])) : nullptr)
    job->first_fence_bytes = packed.size();
  return packed;
}

// ---- what the others hand over

CardExchange::Taken CardExchange::take(const Procs& procs, const Exchanges::Part& part, Procs& behind) {
  if (part.bytes.empty()) return {PMIX_SUCCESS, {}};  // a barrier carries nothing
  const auto unpacked = packer_.unpack(part.bytes);
  if (!unpacked)
    return {unpacked.error().code == Errc::no_memory ? PMIX_ERR_NOMEM : PMIX_ERR_UNPACK_FAILURE, {}};
  const auto& [place, cards] = unpacked->parts;
  // Without a place a request is sent when it matters.
  if (!place.empty()) (void)cards_.modex()->take_place(part.node, link::nspace_of(procs[0]), place);
  Load load;
  Blob along;
  const auto seen = store::read_blobs(cards, [&](store::BlobKind kind, Bytes body) {
    load.cards |= kind == store::BlobKind::cards;
    load.generated |= kind == store::BlobKind::generated;
    if (kind == store::BlobKind::group) along.assign(body.begin(), body.end());
  });
  if (!seen) return {PMIX_ERR_UNPACK_FAILURE, load};
  return {take_blobs(cards, behind), load, std::move(along)};
}

/// Nodes may see two fences end in another order, and a fence that ended well elsewhere may have failed here.
/// A fence can therefore bring a delta of a card that begins after what is known here; the card itself is
/// fetched then.
void CardExchange::fetch_missing(const Procs& behind, const Done& done) {
  if (behind.empty()) return done(PMIX_SUCCESS);
  struct Open {
    std::size_t cards;
    pmix_status_t status;
    Done done;
  };
  const auto open = std::make_shared<Open>(Open{behind.size(), PMIX_SUCCESS, done});
  for (const auto& proc : behind)
    cards_.fetch(proc, {}, [open](const Fetched& fetched) {
      if (fetched.status != PMIX_SUCCESS) open->status = fetched.status;
      if (--open->cards == 0) open->done(open->status);
    });
}

pmix_status_t CardExchange::take_blobs(Bytes blobs, Procs& behind) {
  const auto taken = generated_.take(blobs);
  const auto cards = take_cards(jobs_, blobs, {.behind = &behind});
  return taken == PMIX_SUCCESS ? cards : taken;
}

/// A blob of each kind that is to travel, also where nothing is new. A host may choose how to exchange by
/// whether there are bytes (Slurm's plugin with PMIxCollFence=mixed does): all nodes of a fence with data
/// hand some over, or none does.
Blob CardExchange::bytes_of(const Procs& procs, Load load, Blob cards) const {
  if (load.cards && cards.empty()) cards = store::BlobWriter().finish();
  if (!load.generated) return cards;
  const auto generated = generated_.collect(procs);
  cards.insert(cards.end(), generated.begin(), generated.end());
  return cards;
}

void CardExchange::report_failure(const Procs& procs, bool collect, data::Infos directives, Done done) {
  const auto* why = directives.find(PMIX_LOCAL_COLLECTIVE_STATUS);
  const auto bytes = collect && why != nullptr ? store::failure_blob(why->value.data.status) : Blob();
  host_.fence(procs, std::move(directives), bytes,
              [done = std::move(done)](pmix_status_t status, const Blob&) { done(status); });
}

void CardExchange::by_host(const Procs& procs, const data::Infos& directives, const Blob& bytes,
                           HostEnded done) {
  auto copy = data::Infos::copy_of(directives.data(), directives.size());
  if (!copy) return done(PMIX_ERR_NOMEM, false);
  host_.fence(procs, std::move(*copy), bytes,
              [this, nodes = jobs_.nodes_of(procs).size(), done = std::move(done)](pmix_status_t status,
                                                                                   const Blob& all) {
                // Nodes may disagree on whether cards travel: then some have handed nothing over.
                const bool are_all = store::count_blobs(all, store::BlobKind::cards) >= nodes;
                const auto ended = [done, are_all](pmix_status_t end) { done(end, are_all); };
                Procs behind;
                if (status == PMIX_SUCCESS) status = store::failure_in(all);
                if (status == PMIX_SUCCESS) status = take_blobs(all, behind);
                status == PMIX_SUCCESS ? fetch_missing(behind, ended) : ended(status);
              });
}

}  // namespace weft::server
