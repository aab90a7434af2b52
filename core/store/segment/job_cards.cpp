// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/job_cards.hpp"

#include <algorithm>

#include "core/store/segment/growing_log.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::store {

RemoteCards JobCards::remote() const noexcept {
  const auto& log = others_.log;
  if (others_.parts == nullptr) return log;
  const auto used = std::min(log.header().used.load(std::memory_order_relaxed), log.capacity());
  const bool is_here = others_.parts->reach(others_.at, sizeof(RemoteCards::Header) + used);
  return log.up_to(is_here ? used : 0);
}

KeyedLog JobCards::local(std::uint32_t local) const noexcept {
  auto log = whole(local);
  if (local_.parts == nullptr) return log;
  const auto end = log.published();
  const bool has_rest = end > local_.first && end <= local_.capacity;
  const bool is_here =
      has_rest && local_.parts->reach(local_.rests_at + local * local_.rest_bytes, end - local_.first);
  log.read_up_to(is_here ? end : local_.first);
  return log;
}

KeyedLog JobCards::whole(std::uint32_t local) const noexcept {
  return KeyedLog(local_.pages + std::uint64_t{local} * shm::page_bytes, local_.first, local_.buckets,
                  local_.rests + local * local_.rest_bytes, local_.capacity);
}

KeyedLog JobCards::to_write(std::uint32_t local) const noexcept {
  auto out = whole(local);
  if (header_->cards_are_keyed != 0)
    out.check_with(
        {&header_->card_key, locals_[local].rank.load(std::memory_order_relaxed)});  // JH.C2 came before
  return out;
}

/// The first page is mapped, and most cards end there: what leads behind it is looked for again. The
/// result has one variable, which is returned where it was made: every Get of a card comes through here.
inline Result<Record> JobCards::find_local(std::uint32_t local, std::string_view key, std::uint64_t hash,
                                           std::uint32_t scopes) const noexcept {
  auto log = whole(local);
  if (local_.parts != nullptr) log.read_up_to(local_.first);
  auto found = log.find({Realm::rank, 0}, key, hash, scopes);
  if (is_behind(found, log)) [[unlikely]]
    found = find_again([&] { return this->local(local); },
                       [&](const KeyedLog& now) {
                         return now.find({Realm::rank, 0}, key, hash, scopes);
                       });
  return found;
}

Result<Record> JobCards::find(std::uint32_t r, std::string_view key, std::uint64_t hash, Whole& whole,
                              std::uint32_t scopes) const {
  if (r >= ranks_.size()) return fail(Errc::not_found);
  const auto at = card_of(ranks_, r);
  if (at >= RankEntry::local_card) {
    if (!has_local()) return fail(Errc::not_found, "another job's card");
    const auto index = at - RankEntry::local_card;
    if (index >= local_.count) return fail(Errc::corrupt, "local index");
    return find_local(index, key, hash, scopes);
  }
  const auto found = remote().find(at, key, hash, scopes, whole);
  if (!found) return fail(found.error());
  return Record{{Realm::rank, r}, found->scope, found->key, found->value};
}

Result<std::vector<CardRecord>> JobCards::remote_records(std::uint32_t r, std::deque<Whole>& whole) const {
  const auto at = card_of(ranks_, r);
  if (at >= RankEntry::local_card) return std::vector<CardRecord>();
  return remote().all(at, whole);
}

}  // namespace weft::store
