// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/services/host_groups.hpp"

#include "core/server/jobs/members.hpp"

namespace weft::server {

const Procs* HostGroups::members(const std::string& group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

void HostGroups::construct(link::GroupConstruct call, Host::Answered done) {
  auto remember = [this, group = call.group, members = call.procs, done = std::move(done)](
                      pmix_status_t status, data::Infos infos) mutable {
    if (status == PMIX_SUCCESS) add(group, std::move(members));
    done(status, std::move(infos));
  };
  host_.group(PMIX_GROUP_CONSTRUCT, std::move(call), std::move(remember));
}

void HostGroups::destruct(link::GroupConstruct call, Host::Answered done) {
  auto forget = [this, group = call.group, done = std::move(done)](pmix_status_t status, data::Infos infos) {
    if (status == PMIX_SUCCESS) groups_.erase(group);
    done(status, std::move(infos));
  };
  host_.group(PMIX_GROUP_DESTRUCT, std::move(call), std::move(forget));
}

/// Groups whose members of this node are all of jobs that have ended go first: no member is left that could end them.
void HostGroups::add(const std::string& group, Procs members) {
  std::erase_if(groups_, [&](const auto& each) {
    bool has_local = false;
    each_local(jobs_, each.second, [&](const Job&, std::uint32_t) { has_local = true; });
    return !has_local;
  });
  groups_.insert_or_assign(group, std::move(members));
}

}  // namespace weft::server
