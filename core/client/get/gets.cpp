// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/get/gets.hpp"

#include "core/client/connection/request.hpp"
#include "core/client/get/scratch_folders.hpp"
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

Result<data::Value> Gets::private_value(const pmix_proc_t& proc, std::string_view key) const {
  if (private_.empty()) return fail(Errc::not_found);
  auto value = private_.find(link::nspace_of(proc), proc.rank, key);
  // A singleton's job level lies under the wildcard, where any rank's Get of a reserved key ends.
  if (!value && is_singleton_ && proc.rank != PMIX_RANK_WILDCARD && store::is_reserved(key))
    value = private_.find(link::nspace_of(proc), PMIX_RANK_WILDCARD, key);
  if (value && value->get().type == PMIX_UNDEF) return fail(Errc::not_found);  // deleted
  return value;
}

Result<data::Value> Gets::segment_value(const pmix_proc_t& proc, std::string_view key,
                                        const GetDirectives& how) const {
  const bool is_of_own_job = job_.view && link::is_of(proc, job_.view.nspace());
  const auto other = is_of_own_job ? std::nullopt : job_.find(link::nspace_of(proc));
  auto value = is_of_own_job ? store::lookup(job_.view, proc.rank, key, how, {true, self_.rank})
               : other       ? store::lookup(*other, proc.rank, key, how, {})
                             : fail(Errc::not_found);
  // The server knows more than this process of a value that is missing, and of an array of what is there. The
  // result is assigned, so that a hit is not moved.
  if ((!value || value->get().type == PMIX_DATA_ARRAY) &&
      (job_.segment.is_incomplete() || (other && has_hidden_card(*other, proc.rank))))
    value = fail(Errc::not_found);
  return value;
}

Result<data::Value> Gets::segment_or_private_value(const pmix_proc_t& proc, std::string_view key,
                                                   const GetDirectives& how) const {
  auto value = segment_value(proc, key, how);
  if (value || value.error().code != Errc::not_found) return value;
  if (how.realm == store::Realm::session && how.session && job_.sees_segment())
    if (auto other = store::lookup_session(job_.segment.bytes(), *how.session, key)) return other;
  // The server knows the scope of a value that was put without a card; this process knows only the value.
  if (job_.sees_segment() || is_singleton_ || how.scope == PMIX_SCOPE_UNDEF) value = private_value(proc, key);
  return value;
}

Result<data::Value> Gets::known_value(const pmix_proc_t& proc, std::string_view key,
                                      const GetDirectives& how) const {
  if (puts_.has_staged() && (proc.rank == self_.rank || proc.rank == PMIX_RANK_UNDEF) &&
      link::nspace_of(proc) == link::nspace_of(self_))
    if (auto value = puts_.staged_value(key)) {
      if (value->get().type == PMIX_UNDEF) return fail(Errc::not_found);  // deleted
      return value;
    }
  return segment_or_private_value(proc, key, how);
}

Result<data::Value> Gets::all_known_values(const pmix_proc_t& proc) const {
  if (!job_.sees_segment() && !is_singleton_) return fail(Errc::not_found);  // the server knows them
  const auto view = job_.find(link::nspace_of(proc));
  if (view) {
    const bool same = view->nspace() == link::nspace_of(self_);
    auto all = store::lookup_all(*view, proc.rank, {same, self_.rank});
    if (job_.segment.is_incomplete() || has_hidden_card(*view, proc.rank)) return fail(Errc::not_found);
    if (all) return all;
  }
  data::Infos mine;
  private_.collect(link::nspace_of(proc), proc.rank, mine);
  if (mine.size() == 0) return fail(Errc::not_found);
  return store::array_of(mine);
}

/// This process has put it, and then no value.
bool Gets::has_deleted(std::string_view key) const {
  const auto is_none = [](const auto& value) { return value && value->get().type == PMIX_UNDEF; };
  if (puts_.has_staged())
    if (const auto staged = puts_.staged_value(key)) return is_none(staged);
  return !private_.empty() && is_none(private_.find(link::nspace_of(self_), self_.rank, key));
}

/// Does another node know more about it than this one? Not where there is no telling.
bool Gets::lives_elsewhere(const pmix_proc_t& proc) const {
  const auto view = job_.find(link::nspace_of(proc));
  return view && proc.rank < view->ranks() && view->local_index(proc.rank) == store::none;
}

Result<data::Value> Gets::look_up(const pmix_proc_t& proc, std::string_view key,
                                  const GetDirectives& how) const {
  if (how.refresh && !key.empty() && lives_elsewhere(proc))
    return fail(Errc::not_found);  // ask_server() goes first
  if (!names_scratch_folders(key)) return known_value(proc, key, how);
  auto found = key.empty() ? all_known_values(proc) : known_value(proc, key, how);
  // The name of a folder that could not be made is no answer, and the server's would be the same.
  if (found && job_.view && link::is_of(proc, job_.view.nspace()))
    if (auto made = make_scratch_folders(job_.view, found->get()); !made) return fail(made.error());
  return found;
}

// ---- after a miss

GetFacts Gets::facts_of(const pmix_proc_t& proc, std::string_view key, const GetDirectives& how) const {
  const bool is_of_own_job = job_.view && link::is_of(proc, job_.view.nspace());
  const auto view = is_of_own_job ? std::nullopt : job_.find(link::nspace_of(proc));
  auto facts = is_of_own_job ? store::facts_of(job_.view, proc.rank, key, how)
               : view        ? store::facts_of(*view, proc.rank, key, how)
                             : store::facts_of(proc.rank, key, how);
  facts.sees_jobs &= job_.sees_segment() || is_singleton_;
  facts.can_ask = !is_singleton_;
  const bool is_self =
      proc.rank == self_.rank && (is_of_own_job || link::is_of(proc, link::nspace_of(self_)));
  // Without the segment the server knows more of this process: the scopes of its puts, what the host
  // registered, and what it gave to groups. What this process has deleted is not asked for.
  facts.own = is_self && (facts.sees_jobs || (!puts_.has_card() && how.scope == PMIX_SCOPE_UNDEF &&
                                              !how.realm && has_deleted(key)));
  facts.waits_for_keys = key_wait_ != std::chrono::milliseconds(0);
  return facts;
}

/// The directives as the server gets them: what this process was told by WEFT_GET_WAIT goes along.
Result<data::Infos> Gets::directives_for_server(const pmix_info_t* infos, std::size_t ninfo) const {
  auto directives = data::Infos::copy_of(infos, ninfo);
  if (directives && key_wait_)
    directives->add(store::KeyWait::attribute, data::Value::of(store::KeyWait::pack(*key_wait_)));
  return directives;
}

/// Is the card of this rank brought through the FetchCell? The cell knows no deadline, one thread at a time,
/// and this job alone.
bool Gets::has_fetch_cell_for(const pmix_proc_t& proc, const GetDirectives& how) const {
  return job_.sees_segment() && job_.view && link::is_of(proc, job_.view.nspace()) &&
         !connection_.on_thread() && !how.timeout && !how.refresh && proc.rank < job_.view.ranks() &&
         job_.view.local_index(proc.rank) == store::none;
}

/// A word in the segment there and back, where a message would wake this process's thread first. Nothing: the
/// server was lost. The caller holds fetch_mutex.
std::optional<std::int32_t> Gets::request_card(std::uint32_t rank, store::RemoteCards::Link seen,
                                               FetchCell::Until until) {
  const auto number = job_.control.fetch->post(rank, seen, until);
  job_.control.notify(store::NoticeKind::fetch, 0);
  std::int32_t outcome = FetchCell::fetched;
  const auto over = [&] { return job_.control.fetch->has_reply(number, outcome); };
  if (!shm::wait_until(job_.control.fetch->waiting(), job_.wait, std::nullopt, over,
                       [&] { return connection_.alive(); }))
    return std::nullopt;
  return outcome;
}

/// Has the server bring the card of a rank of another node. Nothing: only a message can decide this Get.
std::optional<pmix_status_t> Gets::get_by_fetch(const pmix_proc_t& proc, std::string_view key,
                                                const GetDirectives& how, data::Value& found) {
  const auto until = how.immediate ? FetchCell::Until::now : FetchCell::Until::commit;
  // Records that the server appends after this count as new: it may have had the card brought for another
  // rank meanwhile.
  auto seen = job_.view.cards().remote_link(proc.rank);
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
    const std::unique_lock mine(job_.control.fetch_mutex, std::try_to_lock);
    if (!mine) return std::nullopt;
    const auto outcome = request_card(proc.rank, seen, until);
    if (!outcome) return PMIX_ERR_LOST_CONNECTION;
    if (*outcome == FetchCell::by_message) return std::nullopt;
    if (*outcome == FetchCell::fetched) ++reads;
    if (*outcome < 0) return *outcome;
  }
}

pmix_status_t Gets::ask_server(const Error& why, const pmix_proc_t& proc, std::string_view key,
                               const pmix_info_t* infos, std::size_t ninfo, const GetDirectives& how,
                               data::Value& found) {
  const auto step = step_after(why, proc, key, how);
  if (!step) return data::to_status(why);
  if (is_end(*step)) return status_of(*step);
  const store::FirstCallScope first(first_fetch_of(proc, key));
  const auto traced = begin_trace(store::TraceCall::get, proc, store::TraceLog::Thread::stays);
  const auto status = wait_for_server(*step, proc, key, infos, ninfo, how, found);
  traced.end(status);
  return status;
}

/// Empty: no launcher traces the job. Of a Get that this process answers by itself nothing is noted.
store::TraceLog::Entry Gets::begin_trace(store::TraceCall call, const pmix_proc_t& proc,
                                         store::TraceLog::Thread thread) const {
  const auto& log = job_.control.trace;
  return log ? log.begin(call, proc.rank, thread) : store::TraceLog::Entry();
}

pmix_status_t Gets::wait_for_server(GetStep step, const pmix_proc_t& proc, std::string_view key,
                                    const pmix_info_t* infos, std::size_t ninfo, const GetDirectives& how,
                                    data::Value& found) {
  if (step == GetStep::ask && !store::is_reserved(key) && has_fetch_cell_for(proc, how))
    if (const auto status = get_by_fetch(proc, key, how, found)) return *status;
  auto directives = directives_for_server(infos, ninfo);
  if (!directives) return data::to_status(directives.error());
  const link::Get message{proc, std::string(key), std::move(*directives)};
  return ask_value(connection_, message, found);
}

/// Null: this Get is none of another node's card, or no launcher accounts for the start.
store::FirstCall* Gets::first_fetch_of(const pmix_proc_t& proc, std::string_view key) const {
  auto* const start = job_.control.start;
  return start != nullptr && !store::is_reserved(key) && lives_elsewhere(proc) ? &start->fetch : nullptr;
}

/// The step after look_up() has failed with `why`. Nothing: `why` is no miss, and ends the Get.
std::optional<GetStep> Gets::step_after(const Error& why, const pmix_proc_t& proc, std::string_view key,
                                        const GetDirectives& how) const {
  if (!is_miss(why)) return std::nullopt;
  auto facts = facts_of(proc, key, how);
  // The groups of another process are known to its own server, and lie in no segment.
  const bool is_about_groups = key == PMIX_GROUP_NAMES && proc.rank <= PMIX_RANK_VALID;
  if (is_about_groups && facts.can_ask && !how.optional && !link::is_same(proc, self_)) return GetStep::ask;
  if (why.code == Errc::outside_scope) facts.lookup = GetFacts::Lookup::hidden;
  return decide_get(facts);
}

void Gets::get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                     std::function<void(pmix_status_t, data::Value)> done) {
  // On the thread, also when the value is here: a callback may not run before the call that asked for it
  // returned.
  auto shared = std::make_shared<data::Infos>(std::move(infos));
  connection_.run_later([this, proc, key = std::move(key), shared, done = std::move(done)] {
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
    auto* first = first_fetch_of(proc, key);
    if (first != nullptr && !first->begin()) first = nullptr;
    const auto traced = begin_trace(store::TraceCall::get_nb, proc, store::TraceLog::Thread::leaves);
    if (first == nullptr && !traced) return request_value(connection_, message, done);
    request_value(connection_, message, [first, traced, done](pmix_status_t status, data::Value found) {
      if (first != nullptr) first->end();
      traced.end(status);
      done(status, std::move(found));
    });
  });
}

// ---- which ranks run where

/// Asks the server, without a look at what this process has.
Getter Gets::getter() {
  return [this](const pmix_proc_t& proc, std::string_view key, const data::Infos& infos, data::Value& found) {
    return ask_server(Error{Errc::not_found}, proc, key, infos.data(), infos.size(), {}, found);
  };
}

PeersOf Gets::peers_of_namespaces() {
  return [this](std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out) {
    return resolve_peers(node, nspace, out);
  };
}

pmix_status_t Gets::resolve_peers(std::string_view node, std::string_view nspace,
                                  std::vector<pmix_proc_t>& out) {
  if (const auto group = groups_.find(nspace))
    return resolve_group_peers(*group, node, peers_of_namespaces(), out);
  const auto view = job_.find(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !is_singleton_ && !job_.sees_segment())
    return resolve_peers_by(getter(), node, nspace.empty() ? link::nspace_of(self_) : nspace, out);
  if (!view) {
    if (!is_singleton_ || (!nspace.empty() && nspace != link::nspace_of(self_))) return PMIX_ERR_NOT_FOUND;
    out.push_back(self_);
    return PMIX_SUCCESS;
  }
  const auto id = node.empty() ? view->my_node() : store::node_by_name(*view, node);
  if (id == store::none) return PMIX_ERR_NOT_FOUND;
  for (const auto rank : store::ranks_on(*view, id)) out.push_back(link::make_proc(view->nspace(), rank));
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t Gets::resolve_nodes(std::string_view nspace, std::string& out) {
  if (const auto group = groups_.find(nspace)) {
    const auto nodes_of = [this](std::string_view name, std::string& nodes) {
      return resolve_nodes(name, nodes);
    };
    return resolve_group_nodes(*group, peers_of_namespaces(), nodes_of, out);
  }
  const auto view = job_.find(nspace.empty() ? link::nspace_of(self_) : nspace);
  if (!view && !is_singleton_ && !job_.sees_segment())
    return resolve_nodes_by(getter(), nspace.empty() ? link::nspace_of(self_) : nspace, out);
  if (!view) {
    auto host =
        is_singleton_ ? private_.find(link::nspace_of(self_), 0, PMIX_HOSTNAME) : fail(Errc::not_found);
    if (!host) return PMIX_ERR_NOT_FOUND;
    out = host->get().data.string;
    return PMIX_SUCCESS;
  }
  out = store::node_names(*view);
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

}  // namespace weft::client
