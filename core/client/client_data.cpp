// SPDX-License-Identifier: BSD-3-Clause
// Put, Commit and Get. What the node knows is read here, in the caller's thread; the server is asked for the rest.
#include <algorithm>
#include <cstdlib>

#include "core/client/client.hpp"
#include "core/data/status.hpp"
#include "core/link/messages.hpp"

namespace weft::client {

using link::MessageType;
using store::GetDirectives;

namespace {

constexpr std::size_t max_key_bytes = PMIX_MAX_KEYLEN;

pmix_status_t status_of(const Error& error) noexcept {
  return data::to_status(error);
}

}  // namespace

pmix_status_t Client::put(pmix_scope_t scope, std::string_view key, const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  if (scope == PMIX_INTERNAL) return store_internal(self_, key, value);
  if (scope != PMIX_LOCAL && scope != PMIX_REMOTE && scope != PMIX_GLOBAL) return PMIX_ERR_BAD_PARAM;
  data::Writer encoded;
  if (auto ok = data::encode_value(encoded, value); !ok) return status_of(ok.error());
  const auto need = store::KeyedLog::record_bytes(key.size(), encoded.size());
  const std::lock_guard lock(own_mutex_);
  // Refused here, where the caller can tell which key it was, and not at the commit of many.
  if (has_card_) {
    const auto end = card_.end_after(staged_.empty() ? card_.published() : staged_end_, need);
    if (!end) return status_of(end.error());
    staged_end_ = *end;
  }
  staged_.push_back({scope, store::hash_key(key), std::string(key), std::move(encoded).take()});
  staged_count_.store(staged_.size(), std::memory_order_release);
  return PMIX_SUCCESS;
}

/// The kernel maps up to 16 present pages around a fault: pages that come 16 at a time cost each reader of this card
/// one fault for all of them.
void Client::prepare_card(std::uint64_t end) {
  constexpr std::uint64_t granule = 16 * shm::page_bytes;
  const auto first = own_job_.header().card_first;
  if (end <= first || end - first <= populated_) return;
  const auto until = (end - first + granule - 1) / granule * granule;
  card_rest_window_.populate(populated_, until - populated_);
  populated_ = until;
}

pmix_status_t Client::commit() {
  std::unique_lock lock(own_mutex_);
  if (has_card_ && !staged_.empty()) prepare_card(staged_end_);
  link::Store message;
  for (auto& put : staged_) {
    if (has_card_) {
      const store::Record record{{store::Realm::rank, 0}, put.scope, put.key, put.value};
      if (auto ok = card_.append(record); !ok) return status_of(ok.error());
    } else {
      private_.store_encoded(link::nspace_of(self_), self_.rank, put.key, put.value);
      message.items.push_back({put.scope, std::move(put.key), std::move(put.value)});
    }
  }
  staged_.clear();
  staged_count_.store(0, std::memory_order_release);
  if (singleton_) return PMIX_SUCCESS;
  if (!has_card_) {
    // Sent under the lock, so that commits of two threads keep their order; not waited for under it, because the
    // thread that brings the answer may be in a callback that puts.
    auto sent = connection_->start(MessageType::store, link::encode(message));
    lock.unlock();
    const auto answer = connection_->finish(std::move(sent));
    const auto done = answer ? link::decode<link::Done>(answer->payload) : tl::unexpected(answer.error());
    return done ? done->status : status_of(done.error());
  }
  // Either we see that the server watches, or the server, which looks again after it said so, sees the commit.
  std::atomic_thread_fence(std::memory_order_seq_cst);  // C1 <-> C2
  if (own_job_.local(local_).watched.load(std::memory_order_relaxed) != 0)
    control_.notify(store::NoticeKind::committed, 0);
  return PMIX_SUCCESS;
}

pmix_status_t Client::store_internal(const pmix_proc_t& proc, std::string_view key,
                                     const pmix_value_t& value) {
  if (key.empty() || key.size() > max_key_bytes) return PMIX_ERR_BAD_PARAM;
  const auto stored = private_.store(link::nspace_of(proc), proc.rank, key, value);
  return stored ? PMIX_SUCCESS : status_of(stored.error());
}

std::optional<store::JobView> Client::job(std::string_view nspace) const {
  if (!segment_) return std::nullopt;
  if (nspace == own_job_.nspace()) return own_job_;
  const auto at = store::find_job(segment_.base(), segment_.size(), nspace);
  if (!at) return std::nullopt;
  const auto view = store::JobView::open(segment_.base(), segment_.size(), *at);
  return view ? std::optional(*view) : std::nullopt;
}

Result<data::Value> Client::find_staged(std::string_view key) const {
  const auto hash = store::hash_key(key);
  const std::lock_guard lock(own_mutex_);
  for (auto put = staged_.rbegin(); put != staged_.rend(); ++put)
    if (put->hash == hash && put->key == key) {
      data::Reader in(put->value);
      return data::Value::decode(in);
    }
  return fail(Errc::not_found);
}

Result<data::Value> Client::find_private(const pmix_proc_t& proc, std::string_view key) const {
  if (private_.empty()) return fail(Errc::not_found);
  auto value = private_.find(link::nspace_of(proc), proc.rank, key);
  // A singleton's job level lies under the wildcard, where any rank's Get of a reserved key ends.
  if (!value && singleton_ && proc.rank != PMIX_RANK_WILDCARD && store::is_reserved(key))
    return private_.find(link::nspace_of(proc), PMIX_RANK_WILDCARD, key);
  return value;
}

Result<data::Value> Client::find_shared(const pmix_proc_t& proc, std::string_view key,
                                        const GetDirectives& how) const {
  if (own_job_ && link::is_of(proc, own_job_.nspace()))
    return store::lookup(own_job_, proc.rank, key, how, {true, self_.rank});
  const auto other = job(link::nspace_of(proc));
  return other ? store::lookup(*other, proc.rank, key, how, {}) : fail(Errc::not_found);
}

Result<data::Value> Client::find_committed(const pmix_proc_t& proc, std::string_view key,
                                           const GetDirectives& how) const {
  auto value = find_shared(proc, key, how);
  if (value || value.error().code != Errc::not_found) return value;
  // Of what was put without a card the server knows the scope, and this process only the value.
  if (segment_ || singleton_ || how.scope == PMIX_SCOPE_UNDEF) value = find_private(proc, key);
  return value;
}

Result<data::Value> Client::find_here(const pmix_proc_t& proc, std::string_view key,
                                      const GetDirectives& how) const {
  if (staged_count_.load(std::memory_order_acquire) != 0 &&
      (proc.rank == self_.rank || proc.rank == PMIX_RANK_UNDEF) &&
      link::nspace_of(proc) == link::nspace_of(self_))
    if (auto value = find_staged(key)) return value;
  return find_committed(proc, key, how);
}

Result<data::Value> Client::everything(const pmix_proc_t& proc) const {
  if (!segment_ && !singleton_) return fail(Errc::not_found);  // the server knows it
  const auto view = job(link::nspace_of(proc));
  if (view) {
    const bool same = view->nspace() == link::nspace_of(self_);
    if (auto all = store::lookup_all(*view, proc.rank, {same, self_.rank})) return all;
  }
  data::Infos mine;
  private_.collect(link::nspace_of(proc), proc.rank, mine);
  if (mine.size() == 0) return fail(Errc::not_found);
  return store::array_of(mine);
}

/// Does another node know more about it than this one? Not where there is no telling.
bool Client::lives_elsewhere(const pmix_proc_t& proc) const {
  const auto view = job(link::nspace_of(proc));
  return view && proc.rank < view->ranks() && view->local_index(proc.rank) == store::none;
}

/// What find() did not find. PMIX_SUCCESS: asking the server may help; else the answer.
pmix_status_t Client::miss(const Error& why, const pmix_proc_t& proc, std::string_view key,
                           const GetDirectives& how) const {
  if (why.code != Errc::not_found) return status_of(why);
  if (singleton_) return PMIX_ERR_NOT_FOUND;
  if (key.empty()) return segment_ ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
  if (how.refresh && lives_elsewhere(proc)) return PMIX_SUCCESS;
  // What this process did not put it cannot wait for: nobody but itself could.
  const bool own = proc.rank == self_.rank && link::nspace_of(proc) == link::nspace_of(self_);
  if (own && !store::is_reserved(key) && (segment_ || how.scope == PMIX_SCOPE_UNDEF))
    return PMIX_ERR_NOT_FOUND;
  if (!segment_) return PMIX_SUCCESS;
  if (how.optional) return PMIX_ERR_NOT_FOUND;
  const auto view = job(link::nspace_of(proc));
  if (!view) return PMIX_SUCCESS;
  if (how.realm || proc.rank == PMIX_RANK_WILDCARD) return how.timeout ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
  if (proc.rank == PMIX_RANK_UNDEF) return PMIX_SUCCESS;
  if (proc.rank >= view->ranks()) return PMIX_ERR_NOT_FOUND;
  const auto index = view->local_index(proc.rank);
  if (index == store::none) return store::is_reserved(key) ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
  const auto state = view->local(index).state.load(std::memory_order_acquire);
  const bool committed = !view->card(index).empty();
  if (store::is_reserved(key) || how.immediate || (committed && !how.timeout)) return PMIX_ERR_NOT_FOUND;
  if (state == store::Local::gone || state == store::Local::finalized)
    return committed ? PMIX_ERR_NOT_FOUND : PMIX_ERR_UNREACH;
  return PMIX_SUCCESS;
}

Result<data::Value> Client::find(const pmix_proc_t& proc, std::string_view key,
                                 const GetDirectives& how) const {
  if (key.empty()) return everything(proc);
  if (how.refresh && lives_elsewhere(proc)) return fail(Errc::not_found);
  return find_here(proc, key, how);
}

/// Has the server bring the card of a rank of this job that lives elsewhere: a word in the segment there and back, where a
/// message would wake this process's thread first. seen: what the caller has looked at in vain. Nothing: not this way
/// (another thread asks, or the host brings cards).
std::optional<pmix_status_t> Client::fetch(const pmix_proc_t& proc, store::RemoteCards::Link seen) {
  if (!segment_ || !own_job_ || !link::is_of(proc, own_job_.nspace()) || connection_->on_thread())
    return std::nullopt;
  if (proc.rank >= own_job_.ranks() || own_job_.local_index(proc.rank) != store::none) return std::nullopt;
  const std::unique_lock mine(control_.fetch_mutex, std::try_to_lock);
  if (!mine) return std::nullopt;
  const auto number = control_.fetch->ask(proc.rank, seen);
  control_.notify(store::NoticeKind::fetch, 0);
  std::int32_t status = PMIX_SUCCESS;
  const auto over = [&] { return control_.fetch->answered(number, status); };
  if (!shm::wait_until(control_.fetch->waiting(), wait_, std::nullopt, over,
                       [&] { return connection_->alive(); }))
    return PMIX_ERR_LOST_CONNECTION;
  return status == PMIX_ERR_NOT_SUPPORTED ? std::nullopt : std::optional<pmix_status_t>(status);
}

pmix_status_t Client::ask(const Error& why, const pmix_proc_t& proc, std::string_view key,
                          const pmix_info_t* infos, std::size_t ninfo, const GetDirectives& how,
                          data::Value& found) {
  if (const auto status = miss(why, proc, key, how); status != PMIX_SUCCESS) return status;
  // What comes after this counts as new: another rank may have had the card brought meanwhile.
  auto seen = own_job_ ? own_job_.remote_link(proc.rank) : 0;
  // The first answer may be to a read that somebody else had begun before this key was committed; the second is not.
  for (int reads = 0; !how.timeout && !how.refresh && !key.empty(); seen = store::FetchCell::anything) {
    auto value = find_here(proc, key, how);
    if (value) found = std::move(*value);
    if (value) return PMIX_SUCCESS;
    if (reads == 2) return status_of(value.error());
    const auto fetched = fetch(proc, seen);
    if (!fetched) break;
    if (*fetched == PMIX_SUCCESS) ++reads;
    if (*fetched != PMIX_SUCCESS && *fetched != PMIX_OPERATION_SUCCEEDED) return *fetched;
  }
  auto directives = data::Infos::copy_of(infos, ninfo);
  if (!directives) return status_of(directives.error());
  const link::Get message{proc, std::string(key), std::move(*directives)};
  const auto answer = connection_->ask(MessageType::get, link::encode(message));
  auto value = answer ? link::decode<link::GotValue>(answer->payload) : tl::unexpected(answer.error());
  if (!value) return status_of(value.error());
  if (value->status == PMIX_SUCCESS) found = std::move(value->value);
  return value->status;
}

pmix_status_t Client::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                          std::size_t ninfo, const GetDirectives& how, data::Value& found) {
  auto here = find(proc, key, how);
  if (!here) return ask(here.error(), proc, key, infos, ninfo, how, found);
  found = std::move(*here);
  return PMIX_SUCCESS;
}

void Client::get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                       std::function<void(pmix_status_t, data::Value)> done) {
  // On the thread, also when the value is here: a callback may not run before the call that asked for it returned.
  auto shared = std::make_shared<data::Infos>(std::move(infos));
  connection_->run_later([this, proc, key = std::move(key), shared, done = std::move(done)] {
    const auto how = GetDirectives::parse(shared->data(), shared->size());
    if (!how) return done(PMIX_ERR_BAD_PARAM, {});
    auto here = find(proc, key, *how);
    if (here) return done(PMIX_SUCCESS, std::move(*here));
    if (const auto status = miss(here.error(), proc, key, *how); status != PMIX_SUCCESS)
      return done(status, {});
    const link::Get message{proc, key, std::move(*shared)};
    connection_->request(MessageType::get, link::encode(message), [done](Result<link::Frame> answer) {
      auto value = answer ? link::decode<link::GotValue>(answer->payload) : tl::unexpected(answer.error());
      if (!value) return done(status_of(value.error()), {});
      done(value->status, std::move(value->value));
    });
  });
}

pmix_value_t* Client::keep(data::Value value) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::make_unique<data::Value>(std::move(value)));
  return &kept_.back()->get();
}

pmix_status_t Client::resolve_peers(std::string_view node, std::string_view nspace,
                                    std::vector<pmix_proc_t>& out) {
  const auto view = job(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !singleton_ && !segment_)
    return resolve_peers_afar(node, nspace.empty() ? link::nspace_of(self_) : nspace, out);
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

/// Without the segment: the server's list of ranks, as text.
pmix_status_t Client::resolve_peers_afar(std::string_view node, std::string_view nspace,
                                         std::vector<pmix_proc_t>& out) {
  data::Infos where;
  where.add(PMIX_NODE_INFO, data::Value::of(true));
  if (!node.empty()) where.add(PMIX_HOSTNAME, data::Value::of(node));
  data::Value peers;
  const auto job_level = link::make_proc(nspace, PMIX_RANK_WILDCARD);
  const auto status = get(job_level, PMIX_LOCAL_PEERS, where.data(), where.size(), {}, peers);
  if (status != PMIX_SUCCESS) return status;
  const char* text = peers.get().type == PMIX_STRING ? peers.get().data.string : nullptr;
  for (char* end = nullptr; text != nullptr && *text != '\0'; text = *end == ',' ? end + 1 : nullptr) {
    const auto rank = std::strtoul(text, &end, 10);
    if (end == text) break;
    out.push_back(link::make_proc(nspace, static_cast<std::uint32_t>(rank)));
  }
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t Client::resolve_nodes(std::string_view nspace, std::string& out) {
  const auto view = job(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !singleton_ && !segment_) {
    data::Value names;
    const auto job_level =
        link::make_proc(nspace.empty() ? link::nspace_of(self_) : nspace, PMIX_RANK_WILDCARD);
    const auto status = get(job_level, PMIX_NODE_LIST, nullptr, 0, {}, names);
    if (status == PMIX_SUCCESS) out = names.get().data.string;
    return status;
  }
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
