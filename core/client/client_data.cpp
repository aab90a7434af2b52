// SPDX-License-Identifier: BSD-3-Clause
// Put and Commit: what this process stages, and what it publishes in its card. Which
// processes run on which node.
#include <algorithm>
#include <cstdlib>

#include "core/client/client.hpp"
#include "core/data/names/status.hpp"
#include "core/data/types/memory.hpp"
#include "core/link/messages.hpp"

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

pmix_status_t Client::put(pmix_scope_t scope, std::string_view key, const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  if (const auto deleted = scope_of_deletion(scope); deleted != scope)
    return put(deleted, key, data::empty_value());  // a value that is none (store::is_deletion)
  if (scope == PMIX_INTERNAL) return store_internal(self_, key, value);
  if (scope != PMIX_LOCAL && scope != PMIX_REMOTE && scope != PMIX_GLOBAL) return PMIX_ERR_BAD_PARAM;
  data::Writer encoded;
  if (auto ok = data::encode_value(encoded, value); !ok) return data::to_status(ok.error());
  const auto need = store::KeyedLog::record_bytes(key.size(), encoded.size());
  const std::lock_guard lock(own_mutex_);
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

pmix_status_t Client::commit() {
  std::unique_lock lock(own_mutex_);
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
  if (singleton_) return PMIX_SUCCESS;
  if (!has_card_) {
    // Sent under the lock, so that commits of two threads keep their order; not waited for under it, because
    // the thread that brings the answer may be in a callback that puts.
    auto sent = connection_->start(MessageType::store, link::encode(message));
    lock.unlock();
    const auto answer = connection_->finish(std::move(sent));
    const auto done = answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
    return done ? done->status : data::to_status(done.error());
  }
  // Either we see that the server watches, or the server, which looks again after it said so, sees the
  // commit.
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C1 <-> C2
  if (own_job_.local(local_).watched.load(std::memory_order_relaxed) != 0)
    control_.notify(store::NoticeKind::committed, 0);
  return PMIX_SUCCESS;
}

pmix_status_t Client::store_internal(const pmix_proc_t& proc, std::string_view key,
                                     const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  const auto stored = private_.store(link::nspace_of(proc), proc.rank, key, value);
  return stored ? PMIX_SUCCESS : data::to_status(stored.error());
}

/// Asks the server, without a look at what this process has.
Getter Client::getter() {
  return [this](const pmix_proc_t& proc, std::string_view key, const data::Infos& infos, data::Value& found) {
    return ask_server(Error{Errc::not_found}, proc, key, infos.data(), infos.size(), {}, found);
  };
}

PeersOf Client::peers_of_namespaces() {
  return [this](std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out) {
    return resolve_peers(node, nspace, out);
  };
}

pmix_status_t Client::resolve_peers(std::string_view node, std::string_view nspace,
                                    std::vector<pmix_proc_t>& out) {
  if (const auto group = groups_.find(nspace))
    return resolve_group_peers(*group, node, peers_of_namespaces(), out);
  const auto view = job(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !singleton_ && !sees_segment())
    return resolve_peers_by(getter(), node, nspace.empty() ? link::nspace_of(self_) : nspace, out);
  if (!view) {
    if (!singleton_ || (!nspace.empty() && nspace != link::nspace_of(self_))) return PMIX_ERR_NOT_FOUND;
    out.push_back(self_);
    return PMIX_SUCCESS;
  }
  const auto id = node.empty() ? view->my_node() : store::node_by_name(*view, node);
  if (id == store::none) return PMIX_ERR_NOT_FOUND;
  for (const auto rank : store::ranks_on(*view, id)) out.push_back(link::make_proc(view->nspace(), rank));
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t Client::resolve_nodes(std::string_view nspace, std::string& out) {
  if (const auto group = groups_.find(nspace)) {
    const auto nodes_of = [this](std::string_view name, std::string& nodes) {
      return resolve_nodes(name, nodes);
    };
    return resolve_group_nodes(*group, peers_of_namespaces(), nodes_of, out);
  }
  const auto view = job(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !singleton_ && !sees_segment())
    return resolve_nodes_by(getter(), nspace.empty() ? link::nspace_of(self_) : nspace, out);
  if (!view) {
    auto host = singleton_ ? private_.find(link::nspace_of(self_), 0, PMIX_HOSTNAME) : fail(Errc::not_found);
    if (!host) return PMIX_ERR_NOT_FOUND;
    out = host->get().data.string;
    return PMIX_SUCCESS;
  }
  out = store::node_names(*view);
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

}  // namespace weft::client
