// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/runs/guest_runs.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/link/messages.hpp"
#include "core/server/published/published.hpp"
#include "transport/mesh/version.hpp"

namespace weft::server {
namespace {

using GuestCall = link::GuestRequest::Call;

void reply_to(const Requester& from, pmix_status_t status, std::vector<std::byte> body = {}) {
  from.connection->send(link::GuestReply::type, from.tag,
                        link::encode(link::GuestReply{status, std::move(body)}));
}

bool has_room_for(const std::string& nspace) {
  return !nspace.empty() && nspace.size() <= PMIX_MAX_NSLEN && nspace.find('\0') == std::string::npos;
}

}  // namespace

bool GuestRuns::may_be_guest(const ClientConnection& connection) {
  return connection.is_tool && connection.uid == ::geteuid();
}

void GuestRuns::serve(const Requester& from, const link::GuestRequest& request, const IsOwn& is_own) {
  if (!may_be_guest(*from.connection)) return reply_to(from, PMIX_ERR_NO_PERMISSIONS);
  if (request.format != mesh::protocol_version) return reply_to(from, PMIX_ERR_NOT_SUPPORTED);
  if (request.call == GuestCall::begin) return begin(from);
  const auto guest = guests_.find(from.connection);
  if (guest == guests_.end()) return reply_to(from, PMIX_ERR_BAD_PARAM);
  if (request.call == GuestCall::end_wait) return lookups_.end_wait(from);
  if (guest->second.open == most_open) return reply_to(from, PMIX_ERR_OUT_OF_RESOURCE);
  ++guest->second.open;
  switch (request.call) {
    case GuestCall::publish:
      return publish(from, request.origin, request.body, is_own);
    case GuestCall::look_up:
      return look_up(from, request.body, is_own);
    default:
      return forget(from, request.origin, request.body);
  }
}

void GuestRuns::begin(const Requester& from) {
  guests_.try_emplace(from.connection);
  reply_to(from, PMIX_SUCCESS);
}

/// Of a request that counts among the open ones.
void GuestRuns::end(const Requester& from, pmix_status_t status, std::vector<std::byte> body) {
  if (const auto guest = guests_.find(from.connection); guest != guests_.end()) --guest->second.open;
  reply_to(from, status, std::move(body));
}

bool GuestRuns::may_speak_for(const ConnectionRef& guest, const std::string& nspace,
                              const IsOwn& is_own) const {
  if (is_own(nspace)) return false;
  return std::none_of(guests_.begin(), guests_.end(), [&](const auto& entry) {
    return entry.first != guest && entry.second.nspaces.contains(nspace);
  });
}

void GuestRuns::publish(const Requester& from, NodeNumber origin, Bytes body, const IsOwn& is_own) {
  auto message = base::decode<PublishNames>(body);
  auto& guest = guests_.at(from.connection);
  const bool is_sound = message && message->by.origin == origin && message->by.is_of_runs() &&
                        has_room_for(message->by.nspace) &&
                        !guest.by_origin.contains({origin, message->by.number});
  if (!is_sound) return end(from, PMIX_ERR_BAD_PARAM);
  if (!may_speak_for(from.connection, message->by.nspace, is_own)) return end(from, PMIX_ERR_EXISTS);
  guest.nspaces.insert(message->by.nspace);
  const auto there = message->by.number;
  const auto by = published_.as_of_here(std::move(message->by));
  Kept kept{origin, there, {}};
  std::vector<NameRef> names;
  for (auto& [key, value] : message->names) {
    names.push_back(std::make_shared<const Name>(Name{by, key, std::move(value)}));
    kept.names.emplace(std::move(key), names.back());
  }
  guest.by_origin.emplace(std::pair(origin, there), by->number);
  guest.kept.emplace(by->number, std::move(kept));
  published_.publish(names, [this, from, number = by->number](pmix_status_t status) {
    const auto found = guests_.find(from.connection);
    if (found != guests_.end() && status != PMIX_SUCCESS) drop(found->second, number);
    end(from, status);
  });
}

void GuestRuns::drop(Guest& guest, std::uint64_t number) {
  const auto kept = guest.kept.find(number);
  if (kept == guest.kept.end()) return;
  guest.by_origin.erase({kept->second.origin, kept->second.number});
  guest.kept.erase(kept);
}

void GuestRuns::look_up(const Requester& from, Bytes body, const IsOwn& is_own) {
  auto message = base::decode<LookUpNames>(body);
  const bool are_keys =
      message && std::all_of(message->keys.begin(), message->keys.end(),
                             [](const auto& key) { return !key.empty() && key.size() <= PMIX_MAX_KEYLEN; });
  if (!are_keys) return end(from, PMIX_ERR_BAD_PARAM);
  const std::string nspace(link::nspace_of(message->looker.proc));
  if (!may_speak_for(from.connection, nspace, is_own)) return end(from, PMIX_ERR_EXISTS);
  message->looker.node = Looker::of_other_run;
  lookups_.look_up(from, std::move(*message), [this, from](pmix_status_t status, const LookedUp& found) {
    end(from, status, status == PMIX_SUCCESS ? base::encode(found) : std::vector<std::byte>());
  });
}

void GuestRuns::forget(const Requester& from, NodeNumber origin, Bytes body) {
  const auto message = base::decode<ForgetNames>(body);
  if (!message) return end(from, PMIX_ERR_BAD_PARAM);
  auto& guest = guests_.at(from.connection);
  std::vector<NameRef> names;
  for (const auto& name : message->names) {
    const auto here = guest.by_origin.find({origin, name.number});
    if (here == guest.by_origin.end()) continue;
    const auto number = here->second;
    auto taken_back = guest.kept.at(number).names.extract(name.key);
    if (taken_back.empty()) continue;
    names.push_back(std::move(taken_back.mapped()));
    if (guest.kept.at(number).names.empty()) drop(guest, number);
  }
  published_.withdraw(names, [this, from](pmix_status_t status) { end(from, status); });
}

void GuestRuns::take(const std::string& key, std::uint64_t number) {
  const auto found = std::find_if(guests_.begin(), guests_.end(),
                                  [&](const auto& entry) { return entry.second.kept.contains(number); });
  if (found == guests_.end()) return;
  auto& guest = found->second;
  auto& kept = guest.kept.at(number);
  const auto name = kept.names.extract(key);
  if (name.empty()) return;
  const link::GuestTaken taken{kept.origin, name.mapped()->by->publisher(), key, kept.number};
  if (kept.names.empty()) drop(guest, number);
  found->first->send(link::GuestTaken::type, 0, link::encode(taken));
}

void GuestRuns::closed(const ConnectionRef& connection) {
  const auto found = guests_.find(connection);
  if (found == guests_.end()) return;
  const auto guest = std::move(found->second);
  guests_.erase(found);
  std::vector<NameRef> names;
  for (const auto& [number, kept] : guest.kept)
    for (const auto& [key, name] : kept.names) names.push_back(name);
  published_.end(names, [&](const Publication& by) { return guest.kept.contains(by.number); });
}

}  // namespace weft::server
