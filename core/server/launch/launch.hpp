// SPDX-License-Identifier: BSD-3-Clause
// Launch information: what a launcher's server packs for the nodes of a job, and how a node's server acts on
// it. So the way into a cluster that no host has made, and what servers of one that a host has made tell each
// other of themselves. docs/design/launch.md.
//
// Threads   The calls of the host: any. They are done on the loop's thread; what they asked for and the loop
//           does not come to is answered with PMIX_ERR_INIT.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/launch/child_environment.hpp"
#include "core/server/launch/introducer.hpp"
#include "core/server/launch/launch_info.hpp"
#include "core/server/loop/host_calls.hpp"

namespace weft::server {

class Launch {
 public:
  struct Rooms {
    Host& host;
    Jobs& jobs;
    Cluster& cluster;
  };
  Launch(Loop& loop, HostCalls& calls, std::string host_name, const Rooms& rooms,
         std::unique_ptr<ChildEnvironment> children);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Calls of the host. Source: PMIx Standard, chapter "Server-specific interfaces".
  LaunchInfo& information() noexcept { return information_; }
  /// Valid as long as the server, and in children that this process forks.
  const ChildEnvironment& children() const noexcept { return *children_; }
  using Packed = std::function<void(pmix_status_t, data::Infos)>;
  /// wants_servers: with the contacts of all servers, where the host has made a cluster of them and `fabric`
  /// is not needed.
  void setup_application(std::string nspace, Envars envars, std::optional<FabricPlan> fabric,
                         bool wants_servers, Packed done);
  void setup_local_support(std::string nspace, data::Infos infos, Done done);
  /// What other servers have to know to speak to this one.
  void collect_inventory(Packed done);
  void deliver_inventory(data::Infos infos, Done done);

  // Of the loop.
  /// One round of the introducers. True: something happened, or may at any moment.
  bool turn() { return introducers_.turn(); }
  bool sleep() noexcept { return introducers_.sleep(); }
  /// The namespace has ended.
  void forget(std::string_view nspace);
  /// No launch of this server's introduces servers any more.
  void close() { introducers_.clear(); }

 private:
  void pack(LaunchBlob& blob, bool wants_servers, const Packed& done);
  void act_on(const LaunchBlob& blob, std::optional<std::uint64_t> node, std::optional<std::uint64_t> limit,
              const Done& done);
  pmix_status_t take_contacts(const std::vector<std::vector<std::byte>>& contacts);
  pmix_status_t take_inventory(const data::Infos& infos);
  bool take(Bytes contact);
  pmix_status_t enter_cluster(const std::string& nspace, const FabricPlan& plan, NodeNumber self);
  void be_introduced(const std::string& nspace, const FabricPlan& plan, std::chrono::seconds limit,
                     const Done& done);
  pmix_status_t take_introductions(const FabricPlan& plan, Bytes body);
  bool is_cluster_of_host() const noexcept { return rooms_.cluster.is_open() && !plan_key_; }

  Loop& loop_;
  HostCalls& calls_;
  const std::string host_name_;
  const Rooms rooms_;
  const std::unique_ptr<ChildEnvironment> children_;
  LaunchInfo information_;
  Introducers introducers_;
  std::set<std::vector<std::byte>> inventory_;  ///< contacts of other servers that the host has delivered
  std::optional<decltype(FabricPlan::key)>
      plan_key_;  ///< of the launch information that has opened the cluster
};

}  // namespace weft::server
