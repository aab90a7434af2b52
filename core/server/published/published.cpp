// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/published.hpp"

#include <algorithm>
#include <utility>

#include "core/data/names/deadline.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

/// As the names of a call: what is not the Standard's own. PMIX_ERR_BAD_PARAM: a key or value that is none.
pmix_status_t names_in(const data::Infos& infos, const std::shared_ptr<const Publication>& by,
                       std::vector<NameRef>& out) {
  for (const auto& info : std::span(infos.data(), infos.size())) {
    const auto key = data::key_of(info);
    if (store::is_reserved(key)) continue;
    data::Writer value;
    if (key.empty() || info.value.type == PMIX_UNDEF || !data::encode_value(value, info.value))
      return PMIX_ERR_BAD_PARAM;
    out.push_back(std::make_shared<const Name>(Name{by, std::string(key), std::move(value).take()}));
  }
  return out.empty() ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

std::size_t weight_of(const std::vector<NameRef>& names) {
  std::size_t out = 0;
  for (const auto& name : names) out += name->weight();
  return out;
}

}  // namespace

Published::Published(Loop& loop, Cluster& cluster, EventRelay& events)
    : loop_(loop),
      cluster_(cluster),
      places_(cluster.servers()),
      names_link_(loop, {[this](const link::GuestTaken& taken) { pass_on(taken); },
                         [&events](const pmix_proc_t& server) { events.announce_lost_names(server); }}),
      far_(names_link_),
      keeper_(cluster, places_, own_, far_),
      calls_(loop, cluster, places_, keeper_),
      lookups_(loop, places_, keeper_, calls_),
      guests_(*this, lookups_) {
  own_.on_taken([this](const std::string& key, std::uint64_t number) { guests_.take(key, number); });
  cluster_.on(RequestType::name_taken, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto taken = base::decode<NameTaken>(body);
    if (taken) take_note(*taken);
    reply(taken ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
  });
  cluster_.on(RequestType::name_copies, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    const auto request = base::decode<CopyRequest>(body);
    if (!request || !places_.is_node(request->home)) return reply(PMIX_ERR_BAD_PARAM, {});
    places_.follow(request->home, from);
    calls_.follow(request->home);
    reply(PMIX_SUCCESS, base::encode(copies_of(request->home)));
  });
}

void Published::Asked::reply(pmix_status_t status) {
  deadline.reset();
  std::exchange(from, Requester{from.connection, 0}).reply(status);
}

std::vector<Published::Group> Published::by_home(const std::vector<NameRef>& names) const {
  std::map<NodeNumber, std::vector<NameRef>> out;
  for (const auto& name : names) out[places_.home_of(name->key)].push_back(name);
  return {std::make_move_iterator(out.begin()), std::make_move_iterator(out.end())};
}

// ---- publish

pmix_status_t Published::read(const Requester& from, const link::Publish& message,
                              std::vector<NameRef>& out) {
  const auto by = std::make_shared<Publication>();
  by->nspace = link::nspace_of(from.proc());
  by->rank = from.proc().rank;
  by->origin = places_.self();
  by->number = ++last_number_;
  auto status = read_publication(message.infos, *by);
  if (status == PMIX_SUCCESS) status = names_in(message.infos, by, out);
  const bool has_room = own_.bytes() + weight_of(out) <= Keeper::most_bytes;
  return status == PMIX_SUCCESS && !has_room ? PMIX_ERR_OUT_OF_RESOURCE : status;
}

void Published::publish(const Requester& from, const link::Publish& message) {
  std::vector<NameRef> names;
  const auto timeout = data::timeout_in(message.infos);
  const auto status = timeout ? read(from, message, names) : PMIX_ERR_BAD_PARAM;
  if (status != PMIX_SUCCESS) return from.reply(status);
  const auto by = names.front()->by;
  if (by->is_of_node()) return from.reply(publish_here(names));
  const auto publishing = begin(names, [from](pmix_status_t how) { from.reply(how); });
  if (*timeout)
    publishing->deadline = std::make_unique<Timer>(loop_, *data::deadline_after(*timeout, loop_.now()),
                                                   [weak = std::weak_ptr(publishing)] {
                                                     const auto late = weak.lock();
                                                     if (!late) return;
                                                     late->is_void = true;
                                                     std::exchange(late->reply, nullptr)(PMIX_ERR_TIMEOUT);
                                                   });
  publish_next(publishing);
}

std::shared_ptr<const Publication> Published::as_of_here(Publication by) {
  by.origin = places_.self();
  by.number = ++last_number_;
  return std::make_shared<const Publication>(std::move(by));
}

void Published::publish(const std::vector<NameRef>& names, Done ended) {
  if (own_.bytes() + weight_of(names) > Keeper::most_bytes) return ended(PMIX_ERR_OUT_OF_RESOURCE);
  publish_next(begin(names, std::move(ended)));
}

Published::PublishingRef Published::begin(const std::vector<NameRef>& names, Done reply) {
  const auto by = names.front()->by;
  const auto publishing = std::make_shared<Publishing>(Publishing{std::move(reply), by, by_home(names)});
  publishing_.emplace(by->number, publishing);
  return publishing;
}

pmix_status_t Published::publish_here(const std::vector<NameRef>& names) {
  const auto status = keeper_.add(names);
  if (status != PMIX_SUCCESS) return status;
  for (const auto& name : names)
    if (keeper_.find(name->key, name->by->number)) own_.add(name);
  for (const auto& name : names) lookups_.look_again(name->key);
  return PMIX_SUCCESS;
}

std::vector<std::byte> Published::message_of(const Publishing& publishing) {
  PublishNames out{*publishing.by, {}};
  for (const auto& name : publishing.groups[publishing.at].second)
    if (!publishing.taken.contains(name->key)) out.names.push_back({name->key, name->value});
  return base::encode(out);
}

void Published::publish_next(const PublishingRef& publishing) {
  if (publishing->at == publishing->groups.size()) return published(publishing);
  calls_.send(
      publishing->groups[publishing->at].first, RequestType::name_publish, message_of(*publishing),
      [this, weak = std::weak_ptr(publishing)](pmix_status_t status, Bytes body) {
        const auto open = weak.lock();
        if (!open) return;
        const auto keeper = std::exchange(open->call, nullptr)->keeper;
        const auto reply = status == PMIX_SUCCESS ? base::decode<NameStatus>(body)
                                                  : Result<NameStatus>(fail(Errc::not_found));
        if (status == PMIX_SUCCESS) status = reply ? reply->status : PMIX_ERR_UNPACK_FAILURE;
        if (status != PMIX_SUCCESS) return undo(open, status);
        const bool is_kept_here = keeper == places_.self() && !(far_.is_used() && open->by->is_of_runs());
        if (is_kept_here) take_kept(open->groups[open->at].second);
        ++open->at;
        publish_next(open);
      },
      &publishing->call);
}

/// Of names that this server keeps itself: as it keeps them, without those that are gone already.
void Published::take_kept(std::vector<NameRef>& names) const {
  for (auto& name : names) name = keeper_.find(name->key, name->by->number);
  std::erase(names, nullptr);
}

/// The keepers have all names.
void Published::published(const PublishingRef& publishing) {
  if (publishing->is_void) return undo(publishing, PMIX_ERR_TIMEOUT);
  for (const auto& [home, names] : publishing->groups)
    for (const auto& name : names)
      if (!publishing->taken.contains(name->key)) own_.add(name);
  finish(publishing, PMIX_SUCCESS);
}

/// Nothing of it stays at the keepers that have taken their part.
void Published::undo(const PublishingRef& publishing, pmix_status_t status) {
  std::vector<NameRef> kept;
  for (std::size_t i = 0; i < publishing->at; ++i)
    for (const auto& name : publishing->groups[i].second) kept.push_back(name);
  withdraw(kept, [this, publishing, status](pmix_status_t) { finish(publishing, status); });
}

void Published::finish(const PublishingRef& publishing, pmix_status_t status) {
  publishing_.erase(publishing->by->number);
  publishing->deadline.reset();
  if (const auto reply = std::exchange(publishing->reply, nullptr)) reply(status);
}

/// The run that keeps a name of this one says that it has gone: the server of the publisher hears of it.
void Published::pass_on(const link::GuestTaken& taken) {
  far_.take(taken);
  const NameTaken note{taken.publisher, {taken.key, taken.number}};
  if (taken.origin == places_.self()) return take_note(note);
  cluster_.send(taken.origin, RequestType::name_taken, base::encode(note), nullptr);
}

/// A process has read a name, which has gone with that: perhaps before the keeper's word has come that it is
/// published.
void Published::take_note(const NameTaken& taken) {
  const auto& [publisher, name] = taken;
  own_.take(publisher, name.key, name.number);
  const auto found = publishing_.find(name.number);
  if (found == publishing_.end()) return;
  const auto publishing = found->second;
  publishing->taken.insert(name.key);
  if (!publishing->call) return;
  const auto& names = publishing->groups[publishing->at].second;
  const bool are_all = std::all_of(names.begin(), names.end(),
                                   [&](const NameRef& one) { return publishing->taken.contains(one->key); });
  if (!are_all) {
    publishing->call->body = message_of(*publishing);  // for a successor
    return;
  }
  calls_.drop(std::exchange(publishing->call, nullptr));
  ++publishing->at;
  publish_next(publishing);
}

// ---- unpublish

void Published::unpublish(const Requester& from, const link::Unpublish& message) {
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  link::RankRuns custom;
  bool is_given = false;
  const auto timeout = data::timeout_in(message.directives);
  const auto status = read_range(message.directives, range, custom, &is_given);
  if (!timeout || status != PMIX_SUCCESS) return from.reply(PMIX_ERR_BAD_PARAM);
  std::vector<NameRef> names;
  if (message.keys.empty()) names = own_.all_of(from.proc());
  for (const auto& key : message.keys)
    for (auto& name : own_.find(from.proc(), key)) names.push_back(std::move(name));
  std::erase_if(names, [&](const NameRef& name) {
    const bool is_meant = name->by->range == range && name->by->custom == custom;
    return !is_meant && (is_given || !message.keys.empty());
  });
  if (names.empty()) return from.reply(message.keys.empty() ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
  const auto asked = std::make_shared<Asked>(Asked{from});
  if (*timeout)
    asked->deadline = std::make_unique<Timer>(loop_, *data::deadline_after(*timeout, loop_.now()),
                                              [weak = std::weak_ptr(asked)] {
                                                if (const auto late = weak.lock())
                                                  late->reply(PMIX_ERR_TIMEOUT);
                                              });
  withdraw(names, [asked](pmix_status_t how) { asked->reply(how); });
}

void Published::withdraw(const std::vector<NameRef>& names, const Done& withdrawn) {
  struct Open {
    std::size_t count = 1;
    pmix_status_t status = PMIX_SUCCESS;
  };
  const auto open = std::make_shared<Open>();
  const auto end_one = [open, withdrawn] {
    if (--open->count == 0) withdrawn(open->status);
  };
  std::vector<NameRef> elsewhere;
  for (const auto& name : names) {
    if (!name->by->is_of_node()) {
      elsewhere.push_back(name);
      continue;
    }
    keeper_.forget(*name);
    own_.erase(*name);
  }
  for (auto& [home, its] : by_home(elsewhere)) {
    ForgetNames message;
    for (const auto& name : its) message.names.push_back({name->key, name->by->number});
    ++open->count;
    calls_.send(home, RequestType::name_forget, base::encode(message),
                [this, open, end_one, its = std::move(its)](pmix_status_t status, Bytes) {
                  if (status != PMIX_SUCCESS) open->status = status;
                  for (const auto& name : its) own_.erase(*name);
                  end_one();
                });
  }
  end_one();
}

// ---- ends

void Published::end(const std::vector<NameRef>& names,
                    const std::function<bool(const Publication&)>& is_ended) {
  withdraw_at_keepers(names);
  for (const auto& [number, publishing] : publishing_)
    if (is_ended(*publishing->by)) publishing->is_void = true;
}

/// Where the keeper is lost, or has left, its successor asks for what is left. At the end of a run that one
/// may be gone, too, before a connection leads there.
void Published::withdraw_at_keepers(const std::vector<NameRef>& names) {
  std::vector<NameRef> elsewhere;
  for (const auto& name : names) {
    own_.erase(*name);
    name->by->is_of_node() ? keeper_.forget(*name) : elsewhere.push_back(name);
  }
  for (const auto& [home, its] : by_home(elsewhere)) {
    if (!places_.has_keeper(home)) continue;
    ForgetNames message;
    for (const auto& name : its) message.names.push_back({name->key, name->by->number});
    calls_.tell(places_.keeper_of(home), RequestType::name_forget, base::encode(message));
  }
}

void Published::closed(const ConnectionRef& connection) {
  lookups_.closed(connection);
  if (!connection->is_tool) return;
  guests_.closed(connection);
  // A tool is all of its namespace that this server knows.
  const auto proc = connection->proc;
  auto names = own_.all_of(proc);
  std::erase_if(names, [](const NameRef& name) { return !name->by->ends_with_namespace(); });
  end(names,
      [&](const Publication& by) { return link::is_same(by.publisher(), proc) && by.ends_with_namespace(); });
}

void Published::process_ended(const pmix_proc_t& proc) {
  auto names = own_.all_of(proc);
  std::erase_if(names, [](const NameRef& name) { return !name->by->ends_with_process(); });
  end(names,
      [&](const Publication& by) { return link::is_same(by.publisher(), proc) && by.ends_with_process(); });
}

void Published::namespace_ended(const std::string& nspace) {
  auto names = own_.all_of(nspace);
  std::erase_if(names, [](const NameRef& name) { return !name->by->ends_with_namespace(); });
  end(names, [&](const Publication& by) { return by.nspace == nspace && by.ends_with_namespace(); });
  keeper_.namespace_ended(nspace);
}

/// A successor asks for them.
NameCopies Published::copies_of(NodeNumber home) const {
  std::map<std::uint64_t, PublishNames> by_number;
  for (const auto& name : own_.all()) {
    if (name->by->is_of_node() || places_.home_of(name->key) != home) continue;
    auto& published = by_number.try_emplace(name->by->number, PublishNames{*name->by, {}}).first->second;
    published.names.push_back({name->key, name->value});
  }
  NameCopies out;
  for (auto& [number, published] : by_number) out.published.push_back(std::move(published));
  return out;
}

std::size_t Published::waiting() const {
  std::size_t out = 0;
  lookups_.each_wait([&](const Lookups::Wait&) { ++out; });
  return out;
}

}  // namespace weft::server
