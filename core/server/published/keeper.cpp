// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/keeper.hpp"

#include <algorithm>
#include <array>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

std::vector<NameRef> names_of(PublishNames message) {
  const auto by = std::make_shared<const Publication>(std::move(message.by));
  std::vector<NameRef> out;
  out.reserve(message.names.size());
  for (auto& [key, value] : message.names)
    out.push_back(std::make_shared<const Name>(Name{by, std::move(key), std::move(value)}));
  return out;
}

SeenName seen_of(const std::pair<Sight, NameRef>& found) {
  if (found.first != Sight::seen) return {.sight = found.first};
  const auto& by = *found.second->by;
  return {Sight::seen, by.nspace, by.rank, found.second->value, by.goes_when_read()};
}

const auto& keys_in(const PublishNames& message) {
  return message.names;
}
const auto& keys_in(const LookUpNames& message) {
  return message.keys;
}
const auto& keys_in(const ForgetNames& message) {
  return message.names;
}
std::array<std::string_view, 1> keys_in(const EndWait& message) {
  return {message.key};
}
std::string_view key_of(std::string_view key) {
  return key;
}
template <class Named>
std::string_view key_of(const Named& name) requires requires {
  name.key;
}
{ return name.key; }

void reply_status(const Rpc::Reply& reply, pmix_status_t status) {
  reply(PMIX_SUCCESS, base::encode(NameStatus{status}));
}

}  // namespace

/// A lookup's reply, until the origins of what it has taken have forgotten it.
struct Keeper::Answer {
  LookedUp looked_up;
  Rpc::Reply reply;
  std::size_t open = 1;
  pmix_status_t why = PMIX_SUCCESS;  ///< the other run does not say what it has

  void end_one() {
    if (--open != 0) return;
    const auto& seen = looked_up.seen;
    const bool is_empty =
        std::none_of(seen.begin(), seen.end(), [](const SeenName& one) { return one.sight == Sight::seen; });
    if (why != PMIX_SUCCESS && is_empty) return reply(why, {});
    reply(PMIX_SUCCESS, base::encode(looked_up));
  }
};

Keeper::Keeper(Cluster& cluster, Places& places, OwnNames& own, FarNames& far)
    : cluster_(cluster), places_(places), own_(own), far_(far) {
  for (const auto type : {RequestType::name_publish, RequestType::name_look_up, RequestType::name_wait_over,
                          RequestType::name_forget})
    cluster_.on(type, [this, type](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
      if (!places_.is_gone(from)) serve(from, type, body, reply);
    });
}

void Keeper::serve(NodeNumber from, RequestType type, Bytes body, const Rpc::Reply& reply) {
  switch (type) {
    case RequestType::name_publish:
      return take_up<PublishNames>(from, body, reply, &Keeper::publish);
    case RequestType::name_look_up:
      return take_up<LookUpNames>(from, body, reply, &Keeper::look_up);
    case RequestType::name_forget:
      return take_up<ForgetNames>(from, body, reply, &Keeper::forget_names);
    case RequestType::name_wait_over:
      return take_up<EndWait>(from, body, reply, &Keeper::end_wait);
    default:
      return reply(PMIX_ERR_NOT_SUPPORTED, {});
  }
}

template <class Message>
void Keeper::take_up(NodeNumber from, Bytes body, const Rpc::Reply& reply,
                     void (Keeper::*act)(NodeNumber, Message, const Rpc::Reply&)) {
  auto message = base::decode<Message>(body);
  const auto home = message ? home_of(keys_in(*message)) : std::nullopt;
  if (!home) return reply(PMIX_ERR_BAD_PARAM, {});
  const bool is_successor = *home != places_.self() && places_.keeper_of(*home) == places_.self();
  if (is_successor || from != places_.self()) places_.follow(*home, places_.self());
  const bool is_held = places_.keeper_of(*home) == places_.self() && *home != places_.self() &&
                       !successions_[*home].is_complete;
  if (!is_held) return (this->*act)(from, std::move(*message), reply);
  when_kept(*home, from, [this, from, act, reply, held = std::make_shared<Message>(std::move(*message))] {
    (this->*act)(from, std::move(*held), reply);
  });
}

/// Nothing: they have several.
template <class Keys>
std::optional<NodeNumber> Keeper::home_of(const Keys& keys) const {
  std::optional<NodeNumber> out;
  for (const auto& key : keys) {
    const auto home = places_.home_of(key_of(key));
    if (out.value_or(home) != home) return std::nullopt;
    out = home;
  }
  return out;
}

// ---- the successor of a lost keeper

void Keeper::when_kept(NodeNumber home, NodeNumber from, std::function<void()> act) {
  auto& succession = successions_[home];
  ++held_;
  const bool is_first = succession.held.empty();
  succession.held.push_back([this, from, act = std::move(act)] {
    --held_;
    if (!places_.is_gone(from)) act();
  });
  if (is_first) ask_for_copies(home, succession);
}

void Keeper::ask_for_copies(NodeNumber home, Succession& succession) {
  const auto others = places_.others();
  succession.asked = others.size() + 1;
  for (const auto node : others)
    cluster_.send(node, RequestType::name_copies, base::encode(CopyRequest{home}),
                  [this, home, node](pmix_status_t status, Bytes body) {
                    auto copies = status == PMIX_SUCCESS ? base::decode<NameCopies>(body)
                                                         : Result<NameCopies>(fail(Errc::not_found));
                    if (copies) take_copies(home, node, std::move(*copies));
                    complete(successions_[home]);
                  });
  for (const auto& name : own_.all())
    if (!name->by->is_of_node() && places_.home_of(name->key) == home) (void)names_.add({name});
  complete(succession);
}

/// Requests of these keys are held: no lookup waits for them yet.
void Keeper::take_copies(NodeNumber home, NodeNumber from, NameCopies copies) {
  if (places_.is_gone(from)) return;
  for (auto& published : copies.published) {
    if (published.by.origin != from || published.by.is_of_node()) continue;
    for (const auto& name : names_of(std::move(published)))
      if (places_.home_of(name->key) == home) (void)names_.add({name});
  }
}

void Keeper::complete(Succession& succession) {
  if (--succession.asked != 0) return;
  succession.is_complete = true;
  for (const auto& act : std::exchange(succession.held, {})) act();
}

// ---- requests

void Keeper::publish(NodeNumber from, PublishNames message, const Rpc::Reply& reply) {
  if (message.by.origin != from || message.by.is_of_node()) return reply(PMIX_ERR_BAD_PARAM, {});
  if (far_.is_used() && message.by.is_of_runs())
    return far_.publish(message, [reply](pmix_status_t status) { reply_status(reply, status); });
  reply_status(reply, add(names_of(std::move(message))));
}

pmix_status_t Keeper::add(const std::vector<NameRef>& names) {
  const auto status = names_.add(names);
  if (status == PMIX_SUCCESS && waits_ != 0)
    for (const auto& name : names) serve_waits(name->key);
  return status;
}

void Keeper::forget_names(NodeNumber from, ForgetNames message, const Rpc::Reply& reply) {
  for (const auto& name : message.names) names_.erase(name.key, from, name.number);
  const auto forgotten = [reply](pmix_status_t status) { reply(status, {}); };
  if (!far_.forget(from, message, forgotten)) reply(PMIX_SUCCESS, {});
}

void Keeper::look_up(NodeNumber from, LookUpNames message, const Rpc::Reply& reply) {
  const auto answer = std::make_shared<Answer>(Answer{{}, reply});
  answer->looked_up.seen.resize(message.keys.size());
  for (std::size_t i = 0; i < message.keys.size(); ++i)
    see(answer, i, names_.look(message.keys[i], message.looker));
  if (message.waits && answer->looked_up.seen.front().sight == Sight::none) {
    const auto& key = message.keys.front();
    auto& waiting = waiting_[key].emplace_back(Waiting{from, message.id, std::move(message.looker), reply});
    ++waits_;
    // Its loss is to be heard of, though nothing else may be said to it for long.
    if (from != places_.self()) (void)cluster_.fabric().mesh().connect(from);
    if (far_.is_used()) wait_far(key, waiting);
    return;
  }
  if (far_.is_used()) ask_far(answer, from, message);
  answer->end_one();
}

SeenName Keeper::look_here(const std::string& key, const Looker& looker) {
  const auto found = names_.look(key, looker);
  auto out = seen_of(found);
  if (out.is_taken) {
    forget(*found.second);
    own_.take(found.second->by->publisher(), key, found.second->by->number);
  }
  return out;
}

/// Those that see a new name, in the order in which they have come.
void Keeper::serve_waits(const std::string& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  std::vector<AnswerRef> answers;  // a reply may bring the next request about this key
  for (auto each = found->second.begin(); each != found->second.end();) {
    const auto waiting = each++;
    const auto sight = names_.look(key, waiting->looker);
    if (sight.first == Sight::none) continue;
    if (waiting->far != 0) {
      far_.end_wait(waiting->far);
      continue;
    }
    answers.push_back(std::make_shared<Answer>(Answer{{{{}}}, waiting->reply}));
    see(answers.back(), 0, sight);
    found->second.erase(waiting);
    --waits_;
  }
  if (found->second.empty()) waiting_.erase(found);
  for (const auto& answer : answers) answer->end_one();
}

void Keeper::see(const AnswerRef& answer, std::size_t at, const std::pair<Sight, NameRef>& found) {
  auto& seen = answer->looked_up.seen[at];
  seen = seen_of(found);
  if (seen.is_taken) take(found.second, answer);
}

void Keeper::take(const NameRef& name, const AnswerRef& answer) {
  const auto& by = *name->by;
  forget(*name);
  if (by.origin == places_.self()) return own_.take(by.publisher(), name->key, by.number);
  if (places_.is_gone(by.origin)) return;
  ++answer->open;
  cluster_.send(by.origin, RequestType::name_taken,
                base::encode(NameTaken{by.publisher(), {name->key, by.number}}),
                [answer](pmix_status_t, Bytes) { answer->end_one(); });
}

void Keeper::end_wait(NodeNumber from, EndWait message, const Rpc::Reply& reply) {
  reply(PMIX_SUCCESS, {});
  auto* const waiting = find_wait(message.key, from, message.id);
  if (waiting == nullptr) return;  // its reply is on its way
  waiting->is_over = true;
  if (waiting->far != 0) return far_.end_wait(waiting->far);
  remove_wait(message.key, *waiting)(PMIX_SUCCESS, base::encode(LookedUp{{{}}}));
}

/// Null: there is none.
Keeper::Waiting* Keeper::find_wait(const std::string& key, NodeNumber from, std::uint64_t id) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return nullptr;
  const auto waiting = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const Waiting& one) { return one.from == from && one.id == id; });
  return waiting == found->second.end() ? nullptr : &*waiting;
}

/// Returns what it is replied to with.
Rpc::Reply Keeper::remove_wait(const std::string& key, const Waiting& waiting) {
  const auto found = waiting_.find(key);
  auto reply = waiting.reply;
  found->second.remove_if([&](const Waiting& one) { return &one == &waiting; });
  --waits_;
  if (found->second.empty()) waiting_.erase(found);
  return reply;
}

// ---- names that another run keeps

/// Of the keys that are not in sight here.
void Keeper::ask_far(const AnswerRef& answer, NodeNumber from, const LookUpNames& message) {
  LookUpNames request{0, message.looker, {}, false};
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < message.keys.size(); ++at) {
    if (answer->looked_up.seen[at].sight == Sight::seen) continue;
    request.keys.push_back(message.keys[at]);
    places.push_back(at);
  }
  if (places.empty()) return;
  ++answer->open;
  (void)far_.look_up(from, request, [answer, places](pmix_status_t status, LookedUp found) {
    answer->why = status;
    for (std::size_t i = 0; i < found.seen.size(); ++i) {
      auto& seen = answer->looked_up.seen[places[i]];
      if (found.seen[i].sight > seen.sight) seen = std::move(found.seen[i]);
    }
    answer->end_one();
  });
}

void Keeper::wait_far(const std::string& key, Waiting& waiting) {
  waiting.far =
      far_.look_up(waiting.from, {waiting.id, waiting.looker, {key}, true},
                   [this, key, from = waiting.from, id = waiting.id](pmix_status_t status, LookedUp found) {
                     far_replied(key, from, id, status, std::move(found));
                   });
}

/// The other run has a name, or does not wait for one any more: this server has said so, because the
/// requester has, or because a name has come here meanwhile.
void Keeper::far_replied(const std::string& key, NodeNumber from, std::uint64_t id, pmix_status_t status,
                         LookedUp found) {
  auto* const waiting = find_wait(key, from, id);
  if (waiting == nullptr) return;  // its node is lost
  waiting->far = 0;
  const auto here = names_.look(key, waiting->looker);
  const bool is_none_there = status == PMIX_SUCCESS && found.seen.front().sight == Sight::none;
  if (is_none_there && here.first == Sight::none && !waiting->is_over) return wait_far(key, *waiting);
  const auto answer = std::make_shared<Answer>(Answer{std::move(found), remove_wait(key, *waiting)});
  answer->why = status;
  answer->looked_up.seen.resize(1);
  if (here.first > answer->looked_up.seen.front().sight) see(answer, 0, here);
  answer->end_one();
}

// ---- ends

void Keeper::node_lost(NodeNumber node) {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const auto entry = each++;
    waits_ -= std::erase_if(entry->second, [this, node](const Waiting& one) {
      if (one.from == node && one.far != 0) far_.end_wait(one.far);
      return one.from == node;
    });
    if (entry->second.empty()) waiting_.erase(entry);
  }
  const auto is_over = [&](const Publication& by) {
    return by.origin == node &&
           (by.ends_with_process() || (by.ends_with_namespace() && ended_.find(by.nspace) != nullptr));
  };
  names_.erase_if([&](const Name& name) { return is_over(*name.by); });
  far_.forget_if(is_over);
}

/// Where the server of its origin is there, that one says when a name ends; it may be lost before.
void Keeper::namespace_ended(const std::string& nspace) {
  bool is_left = false;
  const auto is_over = [&](const Publication& by) {
    const bool is_its = by.nspace == nspace && by.ends_with_namespace();
    is_left |= is_its && !places_.is_gone(by.origin);
    return is_its && places_.is_gone(by.origin);
  };
  names_.erase_if([&](const Name& name) { return is_over(*name.by); });
  far_.forget_if(is_over);
  if (is_left) ended_.add(nspace, {});
}

}  // namespace weft::server
