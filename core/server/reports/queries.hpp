// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Query_info, of clients, tools and the host. The loop's thread only.
#pragma once

#include <asio/io_context.hpp>
#include <functional>

#include "core/link/messages.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/reports/survey.hpp"

namespace weft::server {

class Queries {
 public:
  /// status: PMIX_QUERY_PARTIAL_SUCCESS: only some keys are answered; PMIX_ERR_NOT_SUPPORTED: none is.
  using Replied = std::function<void(pmix_status_t status, data::Infos results)>;

  /// cluster: null where there is no other node.
  Queries(asio::io_context& loop, std::string cluster_name, OwnReport& own, Cluster* cluster);

  void query(link::Query query, Replied done);
  /// Of a client or tool; the kernel says whose process it is.
  void query(const ConnectionRef& connection, std::uint64_t tag, link::Query query);

 private:
  void with_report(bool with_others, std::function<void(const ClusterReport&)> then);
  void reply(const link::Query& query, const ClusterReport* report, const Replied& done) const;

  asio::io_context& loop_;
  const std::string cluster_name_;
  OwnReport& own_;
  Cluster* cluster_;
};

}  // namespace weft::server
