// SPDX-License-Identifier: BSD-3-Clause
// The groups that the host has made for members of this node: PMIx_Group_destruct names a group and no member. The loop's thread only.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class HostGroups {
 public:
  HostGroups(Jobs& jobs, Host& host) : jobs_(jobs), host_(host) {}

  /// All members, as the first of this node's named them; null: there is no such group.
  const Procs* members(const std::string& group) const;

  void construct(link::GroupConstruct call, Host::Answered done);
  void destruct(link::GroupConstruct call, Host::Answered done);

 private:
  void add(const std::string& group, Procs members);

  Jobs& jobs_;
  Host& host_;
  std::map<std::string, Procs> groups_;
};

}  // namespace weft::server
