// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Query_info, of clients, tools and the host: what other servers have to say for it is gathered, then
// each key is answered (query_keys.hpp). The host is asked what this server does not know of a client's or
// tool's query. The loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include "core/server/loop/loop.hpp"

#include "core/link/messages.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/host/host.hpp"
#include "core/server/reports/query_keys.hpp"
#include "core/server/reports/survey.hpp"

namespace weft::server {

class Queries {
 public:
  /// status: PMIX_ERR_PARTIAL_SUCCESS: only some keys are answered; PMIX_ERR_NOT_FOUND: none is.
  using Replied = std::function<void(pmix_status_t status, data::Infos results)>;

  Queries(Loop& loop, const pmix_proc_t& self, const Jobs& jobs, Host& host,
          const HostAttributes& host_attributes, OwnReport& own, const ProcessSets& sets, GroupTable& groups,
          Cluster& cluster, const Calls& calls);

  /// A query of the host, which is not asked itself. caller: whose namespace is meant where a query names
  /// none.
  void query(const pmix_proc_t& caller, link::Query query, Replied done);
  /// A query of a client or tool; the kernel says whose process it is.
  void query(const ConnectionRef& connection, std::uint64_t tag, link::Query query);

 private:
  /// A query until it is answered.
  struct Open {
    link::Query query;
    std::vector<QueryScope> scopes;  ///< one an item
    Gathered gathered;
    Replied done;
    ConnectionRef requester{};  ///< of a client's or tool's
  };
  using OpenRef = std::shared_ptr<Open>;

  void begin(const OpenRef& open, const pmix_proc_t& caller);
  void gather(const OpenRef& open);
  bool gather_report(const OpenRef& open);
  bool gather_table(const OpenRef& open);
  void reply(const OpenRef& open);
  void ask_host(const OpenRef& open, data::Infos known, const std::vector<std::vector<std::string>>& unknown);
  void with_report(bool with_others, std::function<void(const ClusterReport&)> then);

  Loop& loop_;
  const std::string cluster_name_;
  const Jobs& jobs_;
  Host& host_;
  OwnReport& own_;
  GroupTable& groups_;
  Cluster& cluster_;
  Processes processes_;
  QueryKeys keys_;
};

}  // namespace weft::server
