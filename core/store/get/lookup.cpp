// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/lookup.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "core/data/names/qualified_key.hpp"
#include "core/store/get/key_wait.hpp"

namespace weft::store {
namespace {

using data::Value;

Result<std::uint32_t> number_of(const pmix_info_t& info) {
  const auto number = data::as_unsigned(info.value);
  if (!number || *number > 0xffffffffu) return fail(Errc::type_mismatch, info.key);
  return static_cast<std::uint32_t>(*number);
}

Result<void> put_number(const pmix_info_t& info, std::optional<std::uint32_t>& to) {
  const auto number = number_of(info);
  if (!number) return fail(number.error());
  to = *number;
  return {};
}

Result<void> parse_one(const pmix_info_t& info, GetDirectives& out) {
  if ((info.flags & PMIX_INFO_QUALIFIER) != 0)
    return {};  // of the key, and in it (core/data/names/qualified_key.hpp)
  const auto key = data::key_of(info);
  const bool yes = data::is_true(info.value);
  if (key == PMIX_OPTIONAL)
    out.optional = yes;
  else if (key == PMIX_IMMEDIATE)
    out.immediate = yes;
  else if (key == PMIX_GET_REFRESH_CACHE)
    out.refresh = yes;
  else if (key == PMIX_GET_STATIC_VALUES)
    out.static_values = yes;
  else if (key == PMIX_GET_POINTER_VALUES)
    out.pointer_values = yes;
  else if (key == PMIX_SESSION_INFO && yes)
    out.realm = Realm::session;
  else if (key == PMIX_JOB_INFO && yes)
    out.realm = Realm::job;
  else if (key == PMIX_NODE_INFO && yes)
    out.realm = Realm::node;
  else if (key == PMIX_APP_INFO && yes)
    out.realm = Realm::app;
  else if (key == PMIX_NODEID)
    return put_number(info, out.nodeid);
  else if (key == PMIX_APPNUM)
    return put_number(info, out.appnum);
  else if (key == PMIX_SESSION_ID)
    return put_number(info, out.session);
  else if (key == KeyWait::attribute)
    return put_number(info, out.key_wait);
  else if (key == PMIX_TIMEOUT) {
    const auto given = data::timeout_of(info.value);
    if (!given) return fail(given.error());
    if (*given) out.timeout = *given;
  } else if (key == PMIX_DATA_SCOPE) {
    if (info.value.type != PMIX_SCOPE) return fail(Errc::type_mismatch, PMIX_DATA_SCOPE);
    out.scope = info.value.data.scope;
  } else if (key == PMIX_HOSTNAME) {
    if (info.value.type != PMIX_STRING || info.value.data.string == nullptr)
      return fail(Errc::type_mismatch, PMIX_HOSTNAME);
    out.hostname = info.value.data.string;
  }
  return {};
}

/// How a value is wanted: read, or as the bytes of which it was read (Encoded).
template <class Found>
struct As;

template <>
struct As<Value> {
  static Result<Value> stored(const Record& record) {
    data::Reader in(record.value);
    return Value::decode(in);
  }
  static Result<Value> computed(Result<Value> value) { return value; }
  static Result<Value> everything(const JobView& job, KeyOwner owner, Caller caller);
};

template <>
struct As<Encoded> {
  static Result<Encoded> stored(const Record& record) {
    return Encoded(record.value.begin(), record.value.end());
  }
  static Result<Encoded> computed(const Result<Value>& value) {
    if (!value) return fail(value.error());
    data::Writer out;
    if (auto ok = data::encode_value(out, value->get()); !ok) return fail(ok.error());
    return std::move(out).take();
  }
  static Result<Encoded> everything(const JobView& job, KeyOwner owner, Caller caller);
};

/// A stored job-level key first, because the host's word beats what the map implies.
template <class Found>
Result<Found> registered_or_computed(const JobView& job, KeyOwner owner, std::string_view key,
                                     std::uint64_t hash) {
  const auto record = job.find_info(owner, key, hash);
  if (record) return As<Found>::stored(*record);
  if (record.error().code != Errc::not_found) return fail(record.error());
  return As<Found>::computed(compute_key(job, owner, key, hash));
}

bool visible(std::uint8_t scope, pmix_scope_t wanted, bool own, bool here) noexcept {
  if (wanted != PMIX_SCOPE_UNDEF) return scope == wanted || (scope == PMIX_GLOBAL && wanted != PMIX_INTERNAL);
  if (own || scope == PMIX_GLOBAL) return true;
  return here ? scope == PMIX_LOCAL : scope == PMIX_REMOTE;
}

template <class Found>
Result<Found> value_in_card(const JobView& job, std::uint32_t rank, std::string_view key, std::uint64_t hash,
                            const GetDirectives& how, Caller caller) {
  JobCards::Whole whole;
  auto record = job.cards().find(rank, key, hash, whole);
  if (!record) return fail(record.error());
  const bool own = caller.same_job && caller.rank == rank;
  const bool here = job.local_index(rank) != none;
  if (!visible(record->scope, how.scope, own, here)) {
    // The newest record is not for the caller, but an older one may be: fabrics put one address for the node
    // and one for the others.
    std::uint32_t scopes = 0;
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL, PMIX_INTERNAL})
      if (visible(scope, how.scope, own, here)) scopes |= std::uint32_t{1} << scope;
    record = job.cards().find(rank, key, hash, whole, scopes);
    if (!record)
      return record.error().code == Errc::not_found ? fail(Errc::outside_scope) : fail(record.error());
  }
  if (is_deletion(record->value)) return fail(Errc::not_found);
  return As<Found>::stored(*record);
}

std::uint32_t app_of(const JobView& job, std::uint32_t rank) noexcept {
  const auto* entry = job.rank(rank);
  return entry == nullptr || entry->appnum == none ? 0 : entry->appnum;
}

/// The caller named a realm: the qualifiers say which session, node or application, else it is the rank's or
/// the caller's.
KeyOwner owner_of(const JobView& job, std::uint32_t rank, const GetDirectives& how, Caller caller) {
  const auto about = job.rank(rank) != nullptr ? rank : caller.same_job ? caller.rank : PMIX_RANK_UNDEF;
  switch (*how.realm) {
    case Realm::node:
      if (how.nodeid) return {Realm::node, *how.nodeid};
      if (!how.hostname.empty()) return {Realm::node, node_by_name(job, how.hostname)};
      return {Realm::node, job.rank(about) != nullptr ? job.rank(about)->node : job.my_node()};
    case Realm::app:
      return {Realm::app, how.appnum ? *how.appnum : app_of(job, about)};
    case Realm::session:
      return how.session ? session_owner(job, *how.session) : own_session;
    default:
      return {Realm::job, 0};
  }
}

/// Job level, then what a key without a realm means: my node, my application, my session.
template <class Found>
Result<Found> job_level_value(const JobView& job, std::uint32_t about, std::string_view key,
                              std::uint64_t hash) {
  const auto* entry = job.rank(about);
  const std::uint32_t node = entry != nullptr && entry->node != none ? entry->node : job.my_node();
  for (const KeyOwner owner : {KeyOwner{Realm::job, 0}, KeyOwner{Realm::node, node},
                               KeyOwner{Realm::app, app_of(job, about)}, KeyOwner{Realm::session, 0}}) {
    auto value = registered_or_computed<Found>(job, owner, key, hash);
    if (value || value.error().code != Errc::not_found) return value;
  }
  return fail(Errc::not_found);
}

template <class Found>
Result<Found> value_of_any_rank(const JobView& job, std::string_view key, std::uint64_t hash,
                                const GetDirectives& how, Caller caller) {
  bool hidden = false;  // some rank has it for others than the caller: another may have it for all
  for (std::uint32_t r = 0; r < job.ranks(); ++r) {
    auto value = value_in_card<Found>(job, r, key, hash, how, caller);
    if (!value && value.error().code == Errc::outside_scope)
      hidden = true;
    else if (value || value.error().code != Errc::not_found)
      return value;
  }
  auto value = job_level_value<Found>(job, caller.same_job ? caller.rank : PMIX_RANK_UNDEF, key, hash);
  if (!value && value.error().code == Errc::not_found && hidden) return fail(Errc::outside_scope);
  return value;
}

template <class Found>
bool is_missing(const Result<Found>& value) noexcept {
  return !value && value.error().code == Errc::not_found;
}

// These functions have one result variable each, so that the value is returned where it was decoded: every
// Get comes through here.
template <class Found>
Result<Found> value_of_put_key(const JobView& job, std::uint32_t rank, std::string_view key,
                               std::uint64_t hash, const GetDirectives& how, Caller caller) {
  auto value = value_in_card<Found>(job, rank, key, hash, how, caller);
  if (is_missing(value)) {
    const auto record = job.find_info({Realm::rank, rank}, key, hash);
    value = record ? As<Found>::stored(*record) : Result<Found>(fail(record.error()));
  }
  return value;
}

template <class Found>
Result<Found> value_of_reserved_key(const JobView& job, std::uint32_t rank, std::string_view key,
                                    std::uint64_t hash, const GetDirectives& how, Caller caller) {
  auto value = registered_or_computed<Found>(job, {Realm::rank, rank}, key, hash);
  if (is_missing(value)) value = value_in_card<Found>(job, rank, key, hash, how, caller);
  if (is_missing(value)) value = job_level_value<Found>(job, rank, key, hash);
  return value;
}

/// PMIX_NODE_INFO_ARRAY and its like: all that is known of that owner.
template <class Found>
Result<Found> value_of_array_key(const JobView& job, std::uint32_t rank, std::string_view key,
                                 GetDirectives how, Caller caller) {
  if (key == PMIX_PROC_INFO_ARRAY && rank < job.ranks())
    return As<Found>::everything(job, {Realm::rank, rank}, caller);
  const std::pair<std::string_view, Realm> arrays[] = {{PMIX_SESSION_INFO_ARRAY, Realm::session},
                                                       {PMIX_JOB_INFO_ARRAY, Realm::job},
                                                       {PMIX_NODE_INFO_ARRAY, Realm::node},
                                                       {PMIX_APP_INFO_ARRAY, Realm::app}};
  for (const auto& [name, realm] : arrays) {
    if (key != name) continue;
    how.realm = realm;
    return As<Found>::everything(job, owner_of(job, rank, how, caller), caller);
  }
  return fail(Errc::not_found);
}

template <class Found>
Result<Found> find_value(const JobView& job, std::uint32_t rank, std::string_view key,
                         const GetDirectives& how, Caller caller) {
  const auto hash = hash_key(key);
  if (how.realm) return registered_or_computed<Found>(job, owner_of(job, rank, how, caller), key, hash);
  if (rank == PMIX_RANK_UNDEF) return value_of_any_rank<Found>(job, key, hash, how, caller);
  if (rank == PMIX_RANK_WILDCARD)
    return job_level_value<Found>(job, caller.same_job ? caller.rank : PMIX_RANK_UNDEF, key, hash);
  if (rank >= job.ranks()) return fail(Errc::not_found);
  return is_reserved(key) ? value_of_reserved_key<Found>(job, rank, key, hash, how, caller)
                          : value_of_put_key<Found>(job, rank, key, hash, how, caller);
}

/// find_value(); a miss of a key that stands for an array looks again.
template <class Found>
Result<Found> find_value_or_array(const JobView& job, std::uint32_t rank, std::string_view key,
                                  const GetDirectives& how, Caller caller) {
  auto value = find_value<Found>(job, rank, key, how, caller);
  if (is_missing(value) && is_reserved(key)) return value_of_array_key<Found>(job, rank, key, how, caller);
  return value;
}

}  // namespace

bool is_for_others(std::uint8_t scope, pmix_scope_t wanted) noexcept {
  return visible(scope, wanted, false, false);
}

std::uint32_t node_of_get(const JobView& job, std::uint32_t rank, const GetDirectives& how) noexcept {
  const auto* entry = job.rank(rank);
  const auto of_rank = entry != nullptr ? entry->node : none;
  if (!how.realm) return of_rank;
  if (*how.realm != Realm::node) return none;
  if (how.nodeid) return *how.nodeid;
  return how.hostname.empty() ? of_rank : node_by_name(job, how.hostname);
}

namespace {

/// Each key once, with its newest record; empty where nothing is stored about the owner. whole: as
/// JobCards::remote_records().
std::vector<Record> newest_records(const JobView& job, KeyOwner owner, Caller caller,
                                   std::deque<JobCards::Whole>& whole) {
  const std::uint32_t rank = owner.realm == Realm::rank ? owner.index : PMIX_RANK_WILDCARD;
  std::vector<Record> records, newest;
  (void)job.info().visit(0, [&](const Record& record) {
    if (record.owner == owner) records.push_back(record);
  });
  if (const auto local = job.local_index(rank); local != none && job.cards().has_local()) {
    const bool own = caller.same_job && caller.rank == rank;
    (void)job.cards().local(local).visit(0, [&](const Record& record) {
      if (visible(record.scope, PMIX_SCOPE_UNDEF, own, true)) records.push_back(record);
    });
  } else {
    const auto card = job.cards().remote_records(rank, whole);
    for (const auto& record : card ? *card : std::vector<CardRecord>())
      records.push_back({owner, record.scope, record.key, record.value});
  }
  std::set<std::string_view> keys;
  for (auto record = records.rbegin(); record != records.rend(); ++record)
    if (!data::is_qualified(record->key) && keys.insert(record->key).second && !is_deletion(record->value))
      newest.push_back(*record);
  return newest;
}

KeyOwner owner_of_all(std::uint32_t rank) noexcept {
  return rank == PMIX_RANK_WILDCARD ? KeyOwner{Realm::job, 0} : KeyOwner{Realm::rank, rank};
}

Result<Value> As<Value>::everything(const JobView& job, KeyOwner owner, Caller caller) {
  data::Infos found;
  std::deque<JobCards::Whole> whole;
  for (const auto& record : newest_records(job, owner, caller, whole))
    if (auto value = stored(record)) found.add(record.key, std::move(*value));
  compute_all(job, owner, found);
  if (found.size() == 0) return fail(Errc::not_found);
  return array_of(found);
}

Result<Encoded> As<Encoded>::everything(const JobView& job, KeyOwner owner, Caller caller) {
  std::deque<JobCards::Whole> whole;
  const auto records = newest_records(job, owner, caller, whole);
  data::Infos computed;
  compute_all(job, owner, computed);
  std::vector<std::pair<std::string_view, Encoded>> found;
  for (const auto& record : records) found.emplace_back(record.key, *stored(record));
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const auto key = data::key_of(computed.data()[i]);
    const bool is_stored =
        std::any_of(records.begin(), records.end(), [&](const Record& r) { return r.key == key; });
    data::Writer out;
    if (!is_stored && data::encode_value(out, computed.data()[i].value))
      found.emplace_back(key, std::move(out).take());
  }
  if (found.empty()) return fail(Errc::not_found);
  // The bytes are those of an array of infos in docs/design/wire.md.
  data::Writer out;
  out.u16(PMIX_DATA_ARRAY);
  out.u8(1);
  out.u16(PMIX_INFO);
  out.u32(static_cast<std::uint32_t>(found.size()));
  for (const auto& [key, value] : found) {
    out.text(key);
    out.u32(0);
    out.raw(value);
  }
  return std::move(out).take();
}

}  // namespace

Result<Value> array_of(const data::Infos& infos) {
  Value out;
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto* items = static_cast<pmix_info_t*>(std::calloc(infos.size(), sizeof(pmix_info_t)));
  if (array == nullptr || items == nullptr) {
    std::free(array);
    std::free(items);
    return fail(Errc::no_memory);
  }
  *array = {PMIX_INFO, infos.size(), items};
  out.get().type = PMIX_DATA_ARRAY;
  out.get().data.darray = array;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    std::memcpy(items[i].key, infos.data()[i].key, sizeof items[i].key);
    items[i].flags = infos.data()[i].flags;
    if (auto ok = data::copy_value(items[i].value, infos.data()[i].value); !ok) return fail(ok.error());
  }
  return out;
}

Result<GetDirectives> GetDirectives::parse(const pmix_info_t* infos, std::size_t count) {
  GetDirectives out;
  for (std::size_t i = 0; i < count; ++i)
    if (auto ok = parse_one(infos[i], out); !ok) return fail(ok.error());
  // A host or node number without PMIX_NODE_INFO can only mean it; the same holds for an application.
  if (!out.realm && (out.nodeid || !out.hostname.empty())) out.realm = Realm::node;
  if (!out.realm && out.appnum) out.realm = Realm::app;
  return out;
}

Result<Value> lookup(const JobView& job, std::uint32_t rank, std::string_view key, const GetDirectives& how,
                     Caller caller) {
  return find_value_or_array<Value>(job, rank, key, how, caller);
}

Result<Encoded> lookup_encoded(const JobView& job, std::uint32_t rank, std::string_view key,
                               const GetDirectives& how, Caller caller) {
  return find_value_or_array<Encoded>(job, rank, key, how, caller);
}

Result<Value> lookup_in_session(const JobView& job, std::uint32_t session, std::string_view key) {
  return registered_or_computed<Value>(job, session_owner(job, session), key, hash_key(key));
}

Result<Value> lookup_session(const shm::SegmentBytes& segment, std::uint32_t session, std::string_view key) {
  for (const auto at : jobs_of(segment)) {
    const auto job = JobView::open(segment, at);
    if (!job) continue;
    if (auto value = lookup_in_session(*job, session, key)) return value;
  }
  return fail(Errc::not_found);
}

Result<Value> lookup_all(const JobView& job, std::uint32_t rank, Caller caller) {
  return As<Value>::everything(job, owner_of_all(rank), caller);
}

Result<Encoded> lookup_all_encoded(const JobView& job, std::uint32_t rank, Caller caller) {
  return As<Encoded>::everything(job, owner_of_all(rank), caller);
}

}  // namespace weft::store
