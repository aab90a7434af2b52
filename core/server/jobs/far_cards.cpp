// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/far_cards.hpp"

#include <algorithm>
#include <utility>

#include "base/log_format.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

/// Leaves a card out of the segment. Earlier records of the rank stay, unless they would hide what is left
/// out.
void leave_out(Job& job, const store::Card& card) {
  const auto& view = job.view();
  const bool is_known = std::any_of(card.records.begin(), card.records.end(), [&](const auto& record) {
    store::JobCards::Whole whole;
    return view.cards().find(card.rank, record.key, store::hash_key(record.key), whole).has_value();
  });
  if (is_known) job.writer->forget_card(card.rank);
  const bool is_first = job.unkept.empty();
  job.unkept.insert(card.rank);
  if (!is_first) return;
  base::warn(base::LogPart::jobs,
             "{}: what ranks of other nodes have put is more than the segment of this node keeps of it, {} "
             "MiB or the memory "
             "that there is: the values of rank {}, and of others like it, are fetched by each Get that asks "
             "for them. A larger "
             "WEFT_SEGMENT_BYTES, or less data put, makes room",
             job.nspace, view.header().remote_capacity >> 20, card.rank);
}

}  // namespace

pmix_status_t take_cards(Jobs& jobs, Bytes blobs, BesideCards beside) {
  auto status = PMIX_SUCCESS;
  store::RemoteCards::Link base = 0;
  std::string_view nspace;
  beside.base = &base;
  const auto seen = store::read_cards(blobs, [&](const store::Card& card) {
    if (std::exchange(nspace, card.nspace) != card.nspace) base = 0;
    if (const auto taken = take_card(jobs, card, beside); taken != PMIX_SUCCESS) status = taken;
  });
  return seen ? status : PMIX_ERR_UNPACK_FAILURE;
}

pmix_status_t take_card(Jobs& jobs, const store::Card& card, BesideCards beside) {
  auto* job = jobs.find(card.nspace);
  if (job == nullptr || card.rank >= job->view().ranks()) return PMIX_SUCCESS;
  if (job->view().local_index(card.rank) != store::none) return PMIX_SUCCESS;  // ours: it lies in its card
  const auto added = job->writer->add_card(card, beside.base);
  if (added) {
    job->unkept.erase(card.rank);
    return PMIX_SUCCESS;
  }
  const bool has_gap = added.error().code == Errc::again;
  if (added.error().code == Errc::no_space || (has_gap && job->unkept.count(card.rank) != 0)) {
    leave_out(*job, card);
    if (beside.unkept != nullptr) beside.unkept->emplace_back(card);
    return PMIX_SUCCESS;
  }
  if (!has_gap) return PMIX_ERR_OUT_OF_RESOURCE;
  if (beside.behind == nullptr) return PMIX_ERR_UNPACK_FAILURE;
  beside.behind->push_back(link::make_proc(card.nspace, card.rank));
  return PMIX_SUCCESS;
}

UnkeptCard::UnkeptCard(const store::Card& card) : rank(card.rank) {
  std::size_t size = 0;
  for (const auto& record : card.records) size += record.key.size() + record.value.size();
  bytes.reserve(size);  // so that no record moves
  const auto keep = [this](Bytes part) {
    const auto at = bytes.insert(bytes.end(), part.begin(), part.end());
    return Bytes(&*at, part.size());
  };
  for (const auto& record : card.records) {
    const auto key = keep(as_bytes(record.key));
    records.push_back({record.scope,
                       {reinterpret_cast<const char*>(key.data()), key.size()},
                       record.value.empty() ? Bytes() : keep(record.value)});
  }
}

Result<store::Encoded> find_in(const std::vector<UnkeptCard>& cards, std::uint32_t rank, std::string_view key,
                               const store::GetDirectives& how) {
  auto why = Errc::not_found;
  for (auto card = cards.rbegin(); card != cards.rend(); ++card) {
    if (card->rank != rank) continue;
    for (auto record = card->records.rbegin(); record != card->records.rend(); ++record) {
      if (record->key != key) continue;
      if (!store::is_for_others(record->scope, how.scope)) {
        why = Errc::outside_scope;
        continue;
      }
      if (store::is_deletion(record->value)) return fail(Errc::not_found);
      return store::Encoded(record->value.begin(), record->value.end());
    }
  }
  return fail(why);
}

}  // namespace weft::server
