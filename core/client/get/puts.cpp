// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/get/puts.hpp"

#include <algorithm>

#include "core/data/names/status.hpp"
#include "core/data/types/memory.hpp"
#include "core/link/messages.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::client {

using link::MessageType;

namespace {

constexpr std::size_t max_key_bytes = PMIX_MAX_KEYLEN;

/// The scope in which PMIX_DEL_GLOBAL and the like delete a key. Any other scope is returned as it is.
pmix_scope_t scope_of_deletion(pmix_scope_t scope) noexcept {
  switch (scope) {
    case PMIX_DEL_LOCAL:
      return PMIX_LOCAL;
    case PMIX_DEL_REMOTE:
      return PMIX_REMOTE;
    case PMIX_DEL_GLOBAL:
      return PMIX_GLOBAL;
    case PMIX_DEL_INTERNAL:
      return PMIX_INTERNAL;
    default:
      return scope;
  }
}

}  // namespace

pmix_status_t Puts::put(pmix_scope_t scope, std::string_view key, const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  if (const auto deleted = scope_of_deletion(scope); deleted != scope)
    return put(deleted, key, data::empty_value());  // a value that is none (store::is_deletion)
  if (scope == PMIX_INTERNAL) return store_internal(self_, key, value);
  if (scope != PMIX_LOCAL && scope != PMIX_REMOTE && scope != PMIX_GLOBAL) return PMIX_ERR_BAD_PARAM;
  data::Writer encoded;
  if (auto ok = data::encode_value(encoded, value); !ok) return data::to_status(ok.error());
  const auto need = store::KeyedLog::record_bytes(key.size(), encoded.size());
  const std::lock_guard lock(mutex_);
  // Refused here, where the caller can tell which key it was, and not at the commit of many.
  if (has_card_) {
    const auto end = card_.end_after(staged_.empty() ? card_.published() : staged_end_, need);
    if (!end) return data::to_status(end.error());
    staged_end_ = *end;
  }
  staged_.push_back({scope, store::hash_key(key), std::string(key), std::move(encoded).take()});
  staged_count_.store(staged_.size(), std::memory_order_release);
  return PMIX_SUCCESS;
}

pmix_status_t Puts::commit() {
  std::unique_lock lock(mutex_);
  if (has_card_ && !staged_.empty())
    if (!make_card_writable(staged_end_) || !card_.back(staged_end_)) return PMIX_ERR_OUT_OF_RESOURCE;
  link::Store message;
  for (auto& put : staged_) {
    if (has_card_) {
      const store::Record record{{store::Realm::rank, 0}, put.scope, put.key, put.value};
      if (auto ok = card_.append(record); !ok) return data::to_status(ok.error());
    } else {
      private_.store_encoded(link::nspace_of(self_), self_.rank, put.key, put.value);
      message.items.push_back({put.scope, std::move(put.key), std::move(put.value)});
    }
  }
  staged_.clear();
  staged_count_.store(0, std::memory_order_release);
  if (is_singleton_) return PMIX_SUCCESS;
  if (!has_card_) {
    // Sent under the lock, so that commits of two threads keep their order; not waited for under it, because
    // the thread that brings the answer may be in a callback that puts.
    auto asked = connection_.start(MessageType::store, link::encode(message));
    lock.unlock();
    const auto answer = connection_.finish(std::move(asked));
    const auto done = answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
    return done ? done->status : data::to_status(done.error());
  }
  // Either we see that the server watches, or the server, which looks again after it said so, sees the
  // commit.
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C1 <-> C2
  if (job_.view.local(job_.local).watched.load(std::memory_order_relaxed) != 0)
    job_.control.notify(store::NoticeKind::committed, 0);
  return PMIX_SUCCESS;
}

pmix_status_t Puts::store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  const auto stored = private_.store(link::nspace_of(proc), proc.rank, key, value);
  return stored ? PMIX_SUCCESS : data::to_status(stored.error());
}

Result<void> Puts::adopt_card(const store::JobView& view, const store::Local& place) {
  auto card = view.cards().to_write(job_.local);
  const auto& header = view.header();
  rest_ = {.at = place.card_rest, .first = header.card_first, .most = header.card_rest_bytes};
  if (auto ok = make_card_writable(card.published()); !ok) return ok;
  if (auto ok = card.adopt(); !ok) return ok;
  card_ = card;
  has_card_ = true;
  return {};
}

/// What of the card's second piece a log that ends at `end` has. Errors: os.
Result<void> Puts::make_card_writable(std::uint64_t end) {
  if (end <= rest_.first) return {};
  constexpr std::uint64_t part = shm::PartialWindow::part_bytes;  // as KeyedLog::back() takes pages
  const auto wanted = std::min((end - rest_.first + part - 1) / part * part, rest_.most);
  if (wanted <= rest_.writable) return {};
  if (auto ok = job_.segment.clients.make_writable(rest_.at + rest_.writable, wanted - rest_.writable); !ok)
    return ok;
  rest_.writable = wanted;
  return {};
}

Result<data::Value> Puts::staged_value(std::string_view key) const {
  const auto hash = store::hash_key(key);
  const std::lock_guard lock(mutex_);
  for (auto put = staged_.rbegin(); put != staged_.rend(); ++put)
    if (put->hash == hash && put->key == key) {
      data::Reader in(put->value);
      return data::Value::decode(in, data::Pointers::kept);
    }
  return fail(Errc::not_found);
}

}  // namespace weft::client
