// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/lookups.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/data/names/deadline.hpp"
#include "core/data/types/array.hpp"
#include "core/data/types/opaque.hpp"

namespace weft::server {
namespace {

// Of the keys of a lookup, in a report.
constexpr std::size_t most_shown = 200;

/// How many keys end a wait; 0: there is none. Errors: invalid.
Result<std::size_t> wanted_of(const data::Infos& infos, std::size_t keys) {
  const auto* info = infos.find(PMIX_WAIT);
  if (info == nullptr) return 0;
  const auto number = data::as_unsigned(info->value);
  if (!number) {
    const auto truth = data::truth(info->value);
    if (truth == PMIX_NON_BOOL) return fail(Errc::invalid, "PMIX_WAIT");
    return truth == PMIX_BOOL_TRUE ? keys : 0;
  }
  return *number == 0 ? keys : std::min<std::size_t>(*number, keys);
}

/// A value that its publisher's server has encoded.
data::Value decoded(Bytes bytes) {
  const data::OpaqueIgnored ignored;
  data::Reader in(bytes);
  auto value = data::Value::decode(in);
  return value ? std::move(*value) : data::Value();
}

}  // namespace

std::size_t Lookups::Lookup::count(Sight sight) const {
  return static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(), [sight](const Key& key) { return key.seen.sight == sight; }));
}

Lookups::Ref Lookups::read(const Requester& from, const link::Lookup& message, pmix_status_t& status) {
  const auto& infos = message.directives;
  const auto wanted = wanted_of(infos, message.keys.size());
  const auto timeout = data::timeout_in(infos);
  const auto out = std::make_shared<Lookup>(Lookup{.from = from,
                                                   .looker = {},
                                                   .keys = {},
                                                   .wanted = wanted.value_or(0),
                                                   .waits = wanted.value_or(0) != 0});
  const auto& connection = *from.connection;
  out->looker = {connection.proc, places_.self(), connection.uid, connection.gid, PMIX_RANGE_SESSION, {}};
  status = read_range(infos, out->looker);
  if (!wanted || !timeout || message.keys.empty()) status = PMIX_ERR_BAD_PARAM;
  for (const auto& key : message.keys) {
    if (key.empty() || key.size() > PMIX_MAX_KEYLEN) status = PMIX_ERR_BAD_PARAM;
    out->keys.push_back({key});
  }
  out->since = loop_.now();
  if (timeout && *timeout)
    out->deadline = std::make_unique<Timer>(loop_, *data::deadline_after(*timeout, loop_.now()),
                                            [this, weak = std::weak_ptr(out)] {
                                              if (const auto lookup = weak.lock()) time_is_over(lookup);
                                            });
  return out;
}

void Lookups::look_up(const Requester& from, const link::Lookup& message) {
  pmix_status_t status = PMIX_SUCCESS;
  const auto lookup = read(from, message, status);
  if (status != PMIX_SUCCESS) return from.answer({status, {}, {}});
  open(lookup);
}

void Lookups::look_up(const Requester& from, LookUpNames message, Found reply) {
  const auto lookup = std::make_shared<Lookup>(Lookup{.from = from,
                                                      .looker = std::move(message.looker),
                                                      .keys = {},
                                                      .wanted = message.waits ? std::size_t{1} : 0,
                                                      .waits = message.waits,
                                                      .since = loop_.now(),
                                                      .reply = std::move(reply)});
  for (auto& key : message.keys) lookup->keys.push_back({std::move(key)});
  open(lookup);
}

void Lookups::open(const Ref& lookup) {
  open_.push_back(lookup);
  lookup->place = std::prev(open_.end());
  begin(lookup);
}

void Lookups::begin(const Ref& lookup) {
  if (lookup->waits) {
    lookup->open += lookup->keys.size();
    for (std::size_t i = 0; i < lookup->keys.size(); ++i) wait(lookup, i);
  } else {
    ask_all(lookup);
  }
  --lookup->open;
  look(lookup);
}

// ---- without a wait: one request to each keeper

void Lookups::ask_all(const Ref& lookup) {
  std::map<NodeNumber, std::vector<std::size_t>> by_home;
  for (std::size_t i = 0; i < lookup->keys.size(); ++i) {
    auto& key = lookup->keys[i];
    const auto home = places_.home_of(key.key);
    if (places_.keeper_of(home) != places_.self()) key.seen = keeper_.look_here(key.key, lookup->looker);
    if (key.seen.sight != Sight::seen) by_home[home].push_back(i);
  }
  for (const auto& [home, keys] : by_home) ask(lookup, home, keys);
}

void Lookups::ask(const Ref& lookup, NodeNumber home, const std::vector<std::size_t>& keys) {
  LookUpNames request{0, lookup->looker, {}, false};
  for (const auto at : keys) request.keys.push_back(lookup->keys[at].key);
  lookup->open += keys.size();
  KeeperCalls::Ref call;
  calls_.send(
      home, RequestType::name_look_up, base::encode(request),
      [this, weak = std::weak_ptr(lookup), keys](pmix_status_t status, Bytes body) {
        const auto asking = weak.lock();
        if (!asking) return;
        auto reply =
            status == PMIX_SUCCESS ? base::decode<LookedUp>(body) : Result<LookedUp>(fail(Errc::not_found));
        const bool is_whole = reply && reply->seen.size() == keys.size();
        if (!is_whole) asking->why = status == PMIX_SUCCESS ? PMIX_ERR_UNPACK_FAILURE : status;
        for (std::size_t i = 0; i < keys.size(); ++i)
          take(asking, keys[i], is_whole ? std::move(reply->seen[i]) : SeenName{});
      },
      &call);
  for (const auto at : keys)
    if (call->done) lookup->keys[at].call = call;
}

// ---- with a wait: one request for each key

void Lookups::wait(const Ref& lookup, std::size_t at) {
  auto& key = lookup->keys[at];
  const auto home = places_.home_of(key.key);
  const bool is_far = places_.keeper_of(home) != places_.self();
  key.is_here_too = false;
  if (is_far) key.seen = keeper_.look_here(key.key, lookup->looker);
  if (key.seen.sight == Sight::seen || lookup->is_ending) return take(lookup, at, {});
  if (is_far && key.id == 0) far_waits_.emplace(key.key, lookup);
  key.id = ++last_id_;
  calls_.send(
      home, RequestType::name_look_up, base::encode(LookUpNames{key.id, lookup->looker, {key.key}, true}),
      [this, weak = std::weak_ptr(lookup), at](pmix_status_t status, Bytes body) {
        const auto waiting = weak.lock();
        if (!waiting) return;
        auto reply =
            status == PMIX_SUCCESS ? base::decode<LookedUp>(body) : Result<LookedUp>(fail(Errc::not_found));
        const bool is_whole = reply && reply->seen.size() == 1;
        if (!is_whole) waiting->why = status == PMIX_SUCCESS ? PMIX_ERR_UNPACK_FAILURE : status;
        auto& waited = waiting->keys[at];
        waited.call = nullptr;
        const bool is_again = is_whole && reply->seen[0].sight == Sight::none && waited.is_here_too;
        if (is_again) return wait(waiting, at);
        take(waiting, at, is_whole ? std::move(reply->seen[0]) : SeenName{});
      },
      &key.call);
  if (key.call && !key.call->done) key.call = nullptr;  // it has ended at once
}

void Lookups::look_again(const std::string& key) {
  const auto [first, last] = far_waits_.equal_range(key);
  std::vector<Ref> waiting;
  for (auto each = first; each != last; ++each)
    if (auto lookup = each->second.lock()) waiting.push_back(std::move(lookup));
  for (const auto& lookup : waiting)
    for (auto& each : lookup->keys) {
      if (each.key != key || !each.call || each.is_here_too) continue;
      if (keeper_.sight_here(key, lookup->looker) == Sight::none) continue;
      each.is_here_too = true;
      const auto call = each.call;
      calls_.tell(call->keeper, RequestType::name_wait_over, base::encode(EndWait{each.id, key}));
    }
}

// ---- ends

void Lookups::take(const Ref& lookup, std::size_t at, SeenName seen) {
  auto& key = lookup->keys[at];
  key.call = nullptr;
  if (seen.sight > key.seen.sight) key.seen = std::move(seen);
  --lookup->open;
  look(lookup);
}

/// Ends it where it has an end.
void Lookups::look(const Ref& lookup) {
  if (lookup->open == 0) return finish(lookup);
  if (lookup->waits && !lookup->is_ending && lookup->count(Sight::seen) >= lookup->wanted) end_waits(lookup);
}

void Lookups::end_waits(const Ref& lookup) {
  lookup->is_ending = true;
  for (std::size_t at = 0; at < lookup->keys.size(); ++at) {
    auto& key = lookup->keys[at];
    const auto call = key.call;
    if (!call || !lookup->waits) continue;
    if (call->pause) {  // it is nowhere
      calls_.drop(call);
      take(lookup, at, {});
      continue;
    }
    call->body = base::encode(LookUpNames{key.id, lookup->looker, {key.key}, false});
    calls_.tell(call->keeper, RequestType::name_wait_over, base::encode(EndWait{key.id, key.key}));
  }
}

void Lookups::time_is_over(const Ref& lookup) {
  lookup->why = PMIX_ERR_TIMEOUT;
  lookup->deadline = std::make_unique<Timer>(loop_, last_wait, [this, weak = std::weak_ptr(lookup)] {
    const auto late = weak.lock();
    if (!late) return;
    for (auto& key : late->keys)
      if (const auto call = std::exchange(key.call, nullptr)) calls_.drop(call);
    finish(late);
  });
  end_waits(lookup);
}

void Lookups::end_wait(const Requester& from) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Ref& lookup) {
    return lookup->from.connection == from.connection && lookup->from.tag == from.tag;
  });
  if (found == open_.end() || (*found)->is_ending) return;
  const auto lookup = *found;
  end_waits(lookup);
}

void Lookups::closed(const ConnectionRef& connection) {
  std::vector<Ref> its;
  for (const auto& lookup : open_)
    if (lookup->from.connection == connection) its.push_back(lookup);
  for (const auto& lookup : its) {
    lookup->from.tag = 0;
    lookup->reply = nullptr;
    lookup->deadline.reset();
    end_waits(lookup);
  }
}

void Lookups::finish(const Ref& lookup) {
  if (lookup->place == open_.end()) return;
  open_.erase(std::exchange(lookup->place, open_.end()));
  lookup->deadline.reset();
  for (const auto& key : lookup->keys) {
    auto [each, last] = far_waits_.equal_range(key.key);
    while (each != last) each = each->second.lock() == lookup ? far_waits_.erase(each) : std::next(each);
  }
  if (lookup->reply) return tell(*lookup);
  if (lookup->from.tag != 0) answer(*lookup);
}

void Lookups::tell(Lookup& lookup) {
  const bool has_failed = lookup.why != PMIX_ERR_NOT_FOUND && lookup.count(Sight::none) == lookup.keys.size();
  LookedUp found;
  for (auto& key : lookup.keys) found.seen.push_back(std::move(key.seen));
  std::exchange(lookup.reply, nullptr)(has_failed ? lookup.why : PMIX_SUCCESS, found);
}

/// A lookup whose time is over has found nothing, unless names have gone with it: no other process finds
/// them any more.
void Lookups::answer(const Lookup& lookup) const {
  const bool is_late = lookup.why == PMIX_ERR_TIMEOUT;
  const bool has_taken =
      std::any_of(lookup.keys.begin(), lookup.keys.end(), [](const Key& key) { return key.seen.is_taken; });
  const auto seen = lookup.count(Sight::seen);
  const bool is_enough = seen >= (lookup.waits ? lookup.wanted : 1);
  if (seen == 0 || (is_late && !has_taken && !is_enough)) {
    const bool is_hidden = lookup.count(Sight::hidden) == lookup.keys.size();
    return lookup.from.answer({is_hidden ? PMIX_ERR_NO_PERMISSIONS : lookup.why, {}, {}});
  }
  std::vector<pmix_pdata_t> found;
  for (const auto& [key, name, call, id, is_here_too] : lookup.keys) {
    if (name.sight != Sight::seen) continue;
    auto& data = found.emplace_back();
    data.proc = link::make_proc(name.nspace, name.rank);
    data::load_fixed(data.key, sizeof data.key, key);
    data.value = decoded(name.value).release();
  }
  auto value = data::value_of_array(PMIX_PDATA, found.data(), found.size());
  for (auto& data : found) data::destroy_value(data.value);
  if (!value) return lookup.from.answer({PMIX_ERR_NOMEM, {}, {}});
  const auto status = seen == lookup.keys.size() ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
  lookup.from.answer({status, std::move(*value), {}});
}

void Lookups::each_wait(const std::function<void(const Wait&)>& see) const {
  for (const auto& lookup : open_) {
    if (!lookup->waits) continue;
    std::string missing;
    for (const auto& key : lookup->keys)
      if (key.seen.sight != Sight::seen && missing.size() < most_shown)
        missing += (missing.empty() ? "" : ", ") + key.key;
    see({lookup->looker.proc, missing, lookup->since, lookup->is_reported});
  }
}

}  // namespace weft::server
