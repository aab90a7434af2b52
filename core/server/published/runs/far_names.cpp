// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/runs/far_names.hpp"

#include <utility>

namespace weft::server {

void FarNames::publish(const PublishNames& message, Done published) {
  const Call call{message.by.origin, message.by.number};
  Noted noted{std::make_shared<const Publication>(message.by), {}};
  for (const auto& name : message.names) noted.keys.insert(name.key);
  noted_.insert_or_assign(call, std::move(noted));
  (void)link_.send(NamesLink::Call::publish, call.first, base::encode(message),
                   [this, call, published = std::move(published)](pmix_status_t status, Bytes) {
                     if (status != PMIX_SUCCESS) noted_.erase(call);
                     published(status);
                   });
}

void FarNames::drop(const Call& call, const std::string& key) {
  const auto found = noted_.find(call);
  if (found == noted_.end()) return;
  found->second.keys.erase(key);
  if (found->second.keys.empty()) noted_.erase(found);
}

bool FarNames::forget(NodeNumber origin, const ForgetNames& message, Done forgotten) {
  ForgetNames there;
  for (const auto& name : message.names) {
    const auto found = noted_.find({origin, name.number});
    if (found == noted_.end() || !found->second.keys.contains(name.key)) continue;
    there.names.push_back(name);
    drop({origin, name.number}, name.key);
  }
  if (there.names.empty()) return false;
  tell(origin, there, std::move(forgotten));
  return true;
}

void FarNames::tell(NodeNumber origin, const ForgetNames& message, Done forgotten) {
  (void)link_.send(NamesLink::Call::forget, origin, base::encode(message),
                   [forgotten = std::move(forgotten)](pmix_status_t status, Bytes) {
                     if (forgotten) forgotten(status);
                   });
}

std::uint64_t FarNames::look_up(NodeNumber from, const LookUpNames& message, Found found) {
  return link_.send(NamesLink::Call::look_up, from, base::encode(message),
                    [found = std::move(found), keys = message.keys.size()](pmix_status_t status, Bytes body) {
                      auto reply = status == PMIX_SUCCESS ? base::decode<LookedUp>(body)
                                                          : Result<LookedUp>(fail(Errc::not_found));
                      if (status == PMIX_SUCCESS && (!reply || reply->seen.size() != keys))
                        status = PMIX_ERR_UNPACK_FAILURE;
                      found(status, status == PMIX_SUCCESS ? std::move(*reply) : LookedUp{});
                    });
}

void FarNames::take(const link::GuestTaken& taken) {
  drop({taken.origin, taken.number}, taken.key);
}

void FarNames::forget_if(const std::function<bool(const Publication&)>& has_ended) {
  for (auto each = noted_.begin(); each != noted_.end();) {
    const auto entry = each++;
    if (!has_ended(*entry->second.by)) continue;
    ForgetNames message;
    for (const auto& key : entry->second.keys) message.names.push_back({key, entry->first.second});
    tell(entry->first.first, message, nullptr);
    noted_.erase(entry);
  }
}

}  // namespace weft::server
