// SPDX-License-Identifier: BSD-3-Clause
// Get. A value that the node knows is read here, in the caller's thread. After a miss decide_get() says what
// comes next, and a Get that needs the server goes one of two ways: a card of another node through this
// rank's FetchCell, all else by message.
#include "core/client/client.hpp"
#include "core/client/connection/request.hpp"
#include "core/client/get/scratch_folders.hpp"
#include "core/data/names/qualified_key.hpp"
#include "core/data/names/status.hpp"
#include "core/link/messages.hpp"
#include "core/store/get/key_wait.hpp"

namespace weft::client {

using store::FetchCell;
using store::GetDirectives;
using store::GetFacts;
using store::GetStep;

namespace {

bool is_miss(const Error& error) noexcept {
  return error.code == Errc::not_found || error.code == Errc::outside_scope;
}

/// The rank is one of this node, of another job: its card lies in a memory that is not this process's.
bool has_hidden_card(const store::JobView& job, std::uint32_t rank) noexcept {
  return !job.cards().has_local() && job.local_index(rank) != store::none;
}

}  // namespace

// ---- what this process reads by itself

std::optional<store::JobView> Client::job(std::string_view nspace) const {
  if (!segment_) return std::nullopt;
  if (nspace == own_job_.nspace()) return own_job_;
  const auto at = store::find_job(segment_.bytes(), nspace);
  if (!at) return std::nullopt;
  const auto view = store::JobView::open(segment_.bytes(), *at);
  return view ? std::optional(*view) : std::nullopt;
}

Result<data::Value> Client::staged_value(std::string_view key) const {
  const auto hash = store::hash_key(key);
  const std::lock_guard lock(own_mutex_);
  for (auto put = staged_.rbegin(); put != staged_.rend(); ++put)
    if (put->hash == hash && put->key == key) {
      data::Reader in(put->value);
      return data::Value::decode(in, data::Pointers::kept);
    }
  return fail(Errc::not_found);
}

Result<data::Value> Client::private_value(const pmix_proc_t& proc, std::string_view key) const {
  if (private_.empty()) return fail(Errc::not_found);
  auto value = private_.find(link::nspace_of(proc), proc.rank, key);
  // A singleton's job level lies under the wildcard, where any rank's Get of a reserved key ends.
  if (!value && singleton_ && proc.rank != PMIX_RANK_WILDCARD && store::is_reserved(key))
    value = private_.find(link::nspace_of(proc), PMIX_RANK_WILDCARD, key);
  if (value && value->get().type == PMIX_UNDEF) return fail(Errc::not_found);  // deleted
  return value;
}

Result<data::Value> Client::segment_value(const pmix_proc_t& proc, std::string_view key,
                                          const GetDirectives& how) const {
  const bool is_of_own_job = own_job_ && link::is_of(proc, own_job_.nspace());
  const auto other = is_of_own_job ? std::nullopt : job(link::nspace_of(proc));
  auto value = is_of_own_job ? store::lookup(own_job_, proc.rank, key, how, {true, self_.rank})
               : other       ? store::lookup(*other, proc.rank, key, how, {})
                             : fail(Errc::not_found);
  // The server knows more than this process of a value that is missing, and of an array of what is there. The
  // result is assigned, so that a hit is not moved.
  if ((!value || value->get().type == PMIX_DATA_ARRAY) &&
      (segment_.is_incomplete() || (other && has_hidden_card(*other, proc.rank))))
    value = fail(Errc::not_found);
  return value;
}

Result<data::Value> Client::segment_or_private_value(const pmix_proc_t& proc, std::string_view key,
                                                     const GetDirectives& how) const {
  auto value = segment_value(proc, key, how);
  if (value || value.error().code != Errc::not_found) return value;
  if (how.realm == store::Realm::session && how.session && sees_segment())
    if (auto other = store::lookup_session(segment_.bytes(), *how.session, key)) return other;
  // The server knows the scope of a value that was put without a card; this process knows only the value.
  if (sees_segment() || singleton_ || how.scope == PMIX_SCOPE_UNDEF) value = private_value(proc, key);
  return value;
}

Result<data::Value> Client::known_value(const pmix_proc_t& proc, std::string_view key,
                                        const GetDirectives& how) const {
  if (staged_count_.load(std::memory_order_acquire) != 0 &&
      (proc.rank == self_.rank || proc.rank == PMIX_RANK_UNDEF) &&
      link::nspace_of(proc) == link::nspace_of(self_))
    if (auto value = staged_value(key)) {
      if (value->get().type == PMIX_UNDEF) return fail(Errc::not_found);  // deleted
      return value;
    }
  return segment_or_private_value(proc, key, how);
}

Result<data::Value> Client::all_known_values(const pmix_proc_t& proc) const {
  if (!sees_segment() && !singleton_) return fail(Errc::not_found);  // the server knows them
  const auto view = job(link::nspace_of(proc));
  if (view) {
    const bool same = view->nspace() == link::nspace_of(self_);
    auto all = store::lookup_all(*view, proc.rank, {same, self_.rank});
    if (segment_.is_incomplete() || has_hidden_card(*view, proc.rank)) return fail(Errc::not_found);
    if (all) return all;
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

Result<data::Value> Client::look_up(const pmix_proc_t& proc, std::string_view key,
                                    const GetDirectives& how) const {
  if (how.refresh && !key.empty() && lives_elsewhere(proc))
    return fail(Errc::not_found);  // ask_server() goes first
  if (!names_scratch_folders(key)) return known_value(proc, key, how);
  auto found = key.empty() ? all_known_values(proc) : known_value(proc, key, how);
  // The name of a folder that could not be made is no answer, and the server's would be the same.
  if (found && own_job_ && link::is_of(proc, own_job_.nspace()))
    if (auto made = make_scratch_folders(own_job_, found->get()); !made) return fail(made.error());
  return found;
}

// ---- after a miss

GetFacts Client::facts_of(const pmix_proc_t& proc, std::string_view key, const GetDirectives& how) const {
  const bool is_of_own_job = own_job_ && link::is_of(proc, own_job_.nspace());
  const auto view = is_of_own_job ? std::nullopt : job(link::nspace_of(proc));
  auto facts = is_of_own_job ? store::facts_of(own_job_, proc.rank, key, how)
               : view        ? store::facts_of(*view, proc.rank, key, how)
                             : store::facts_of(proc.rank, key, how);
  facts.sees_jobs &= sees_segment() || singleton_;
  facts.can_ask = !singleton_;
  const bool is_self =
      proc.rank == self_.rank && (is_of_own_job || link::is_of(proc, link::nspace_of(self_)));
  // Without the segment the server knows more of this process: the scopes of its puts, what the host
  // registered, and what it gave to groups.
  facts.own = is_self && (facts.sees_jobs || (!has_card_ && how.scope == PMIX_SCOPE_UNDEF && !key.empty() &&
                                              !data::is_qualified(key)));
  facts.waits_for_keys = key_wait_ != std::chrono::milliseconds(0);
  return facts;
}

/// The directives as the server gets them: what this process was told by WEFT_GET_WAIT goes along.
Result<data::Infos> Client::directives_for_server(const pmix_info_t* infos, std::size_t ninfo) const {
  auto directives = data::Infos::copy_of(infos, ninfo);
  if (directives && key_wait_)
    directives->add(store::KeyWait::attribute, data::Value::of(store::KeyWait::pack(*key_wait_)));
  return directives;
}

/// Is the card of this rank brought through the FetchCell? The cell knows no deadline, one thread at a time,
/// and this job alone.
bool Client::has_fetch_cell_for(const pmix_proc_t& proc, const GetDirectives& how) const {
  return sees_segment() && own_job_ && link::is_of(proc, own_job_.nspace()) && !connection_->on_thread() &&
         !how.timeout && !how.refresh && proc.rank < own_job_.ranks() &&
         own_job_.local_index(proc.rank) == store::none;
}

/// A word in the segment there and back, where a message would wake this process's thread first. Nothing: the
/// server was lost. The caller holds fetch_mutex.
std::optional<std::int32_t> Client::request_card(std::uint32_t rank, store::RemoteCards::Link seen,
                                                 FetchCell::Until until) {
  const auto number = control_.fetch->post(rank, seen, until);
  control_.notify(store::NoticeKind::fetch, 0);
  std::int32_t outcome = FetchCell::fetched;
  const auto over = [&] { return control_.fetch->has_reply(number, outcome); };
  if (!shm::wait_until(control_.fetch->waiting(), wait_, std::nullopt, over,
                       [&] { return connection_->alive(); }))
    return std::nullopt;
  return outcome;
}

/// Has the server bring the card of a rank of another node. Nothing: only a message can decide this Get.
std::optional<pmix_status_t> Client::get_by_fetch(const pmix_proc_t& proc, std::string_view key,
                                                  const GetDirectives& how, data::Value& found) {
  const auto until = how.immediate ? FetchCell::Until::now : FetchCell::Until::commit;
  // Records that the server appends after this count as new: it may have had the card brought for another
  // rank meanwhile.
  auto seen = own_job_.cards().remote_link(proc.rank);
  for (int reads = 0;; seen = FetchCell::anything) {
    auto facts =
        facts_of(proc, key, how);  // before the lookup: what it misses was not there when these were read
    auto value = known_value(proc, key, how);
    if (value) {
      found = std::move(*value);
      return PMIX_SUCCESS;
    }
    if (!is_miss(value.error())) return data::to_status(value.error());
    // The first reply may be to a read that had begun before this key was committed; the second is not.
    if (reads == 2) {
      facts.asked = facts.committed = true;
      if (value.error().code == Errc::outside_scope) facts.lookup = GetFacts::Lookup::hidden;
      const auto step = decide_get(facts);
      return is_end(step) ? std::optional(status_of(step)) : std::nullopt;
    }
    const std::unique_lock mine(control_.fetch_mutex, std::try_to_lock);
    if (!mine) return std::nullopt;
    const auto outcome = request_card(proc.rank, seen, until);
    if (!outcome) return PMIX_ERR_LOST_CONNECTION;
    if (*outcome == FetchCell::by_message) return std::nullopt;
    if (*outcome == FetchCell::fetched) ++reads;
    if (*outcome < 0) return *outcome;
  }
}

pmix_status_t Client::ask_server(const Error& why, const pmix_proc_t& proc, std::string_view key,
                                 const pmix_info_t* infos, std::size_t ninfo, const GetDirectives& how,
                                 data::Value& found) {
  const auto step = step_after(why, proc, key, how);
  if (!step) return data::to_status(why);
  if (is_end(*step)) return status_of(*step);
  if (*step == GetStep::ask && !store::is_reserved(key) && has_fetch_cell_for(proc, how))
    if (const auto status = get_by_fetch(proc, key, how, found)) return *status;
  auto directives = directives_for_server(infos, ninfo);
  if (!directives) return data::to_status(directives.error());
  const link::Get message{proc, std::string(key), std::move(*directives)};
  return ask_value(*connection_, message, found);
}

/// The step after look_up() has failed with `why`. Nothing: `why` is no miss, and ends the Get.
std::optional<GetStep> Client::step_after(const Error& why, const pmix_proc_t& proc, std::string_view key,
                                          const GetDirectives& how) const {
  if (!is_miss(why)) return std::nullopt;
  auto facts = facts_of(proc, key, how);
  // The groups of another process are known to its own server, and lie in no segment.
  const bool is_about_groups = key == PMIX_GROUP_NAMES && proc.rank <= PMIX_RANK_VALID;
  if (is_about_groups && facts.can_ask && !how.optional && !link::is_same(proc, self_)) return GetStep::ask;
  if (why.code == Errc::outside_scope) facts.lookup = GetFacts::Lookup::hidden;
  return decide_get(facts);
}

void Client::get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                       std::function<void(pmix_status_t, data::Value)> done) {
  // On the thread, also when the value is here: a callback may not run before the call that asked for it
  // returned.
  auto shared = std::make_shared<data::Infos>(std::move(infos));
  connection_->run_later([this, proc, key = std::move(key), shared, done = std::move(done)] {
    const auto how = GetDirectives::parse(shared->data(), shared->size());
    if (!how) return done(PMIX_ERR_BAD_PARAM, {});
    auto here = look_up(proc, key, *how);
    if (here) return done(PMIX_SUCCESS, std::move(*here));
    const auto step = step_after(here.error(), proc, key, *how);
    if (!step) return done(data::to_status(here.error()), {});
    if (is_end(*step)) return done(status_of(*step), {});
    auto directives = directives_for_server(shared->data(), shared->size());
    if (!directives) return done(data::to_status(directives.error()), {});
    const link::Get message{proc, key, std::move(*directives)};
    request_value(*connection_, message, done);
  });
}

}  // namespace weft::client
