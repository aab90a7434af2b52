// SPDX-License-Identifier: BSD-3-Clause
// What this server can answer of a query by itself: each key, and what its qualifiers mean. The loop's thread
// only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/server/groups/table/group_table.hpp"
#include "core/server/host/host_attributes.hpp"
#include "core/server/jobs/process_sets.hpp"
#include "core/server/reports/calls.hpp"
#include "core/server/reports/own_report.hpp"
#include "core/server/reports/processes.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {

/// The qualifiers of one query.
struct QueryScope {
  std::string nspace;         ///< by PMIX_NSPACE or PMIX_PROCID, else the caller's
  bool names_nspace = false;  ///< it is not the caller's by default
  pmix_rank_t rank = PMIX_RANK_WILDCARD;
  std::string group, set;  ///< PMIX_GROUP_ID, PMIX_PSET_NAME
  bool is_local_only = false;
  bool is_for_host = false;          ///< a required qualifier is none of this library's
  bool asks_for_qualifiers = false;  ///< which ones its keys take, instead of their values
  store::GetDirectives how;          ///< realm, node, application; borrows from the infos

  /// Errors: invalid (of another type; PMIX_PROCID beside PMIX_NSPACE or PMIX_RANK).
  static Result<QueryScope> parse(const data::Infos& qualifiers, const pmix_proc_t& caller);
};

/// The answers of other servers for a query.
struct Gathered {
  std::optional<ClusterReport> report;
  std::map<std::string, std::vector<ProcessRow>, std::less<>> tables;  ///< by namespace
};

class QueryKeys {
 public:
  QueryKeys(const Jobs& jobs, const OwnReport& own, const HostAttributes& host_attributes,
            const Processes& processes, const ProcessSets& sets, const GroupTable& groups,
            const Cluster& cluster, const Calls& calls)
      : jobs_(jobs),
        sets_(sets),
        groups_(groups),
        own_(own),
        host_attributes_(host_attributes),
        processes_(processes),
        cluster_(cluster),
        calls_(calls) {}

  static bool needs_report(std::string_view key, const QueryScope& scope);
  static bool needs_table(std::string_view key, const QueryScope& scope);
  /// Errors: not_found (no such key here, or nothing is known), no_memory.
  Result<data::Value> answer(std::string_view key, const QueryScope& scope, const Gathered& gathered) const;

 private:
  std::string debug_support() const;
  std::string namespaces(const QueryScope& scope, const Gathered& gathered) const;
  Result<data::Value> namespace_info(const QueryScope& scope, const Gathered& gathered) const;
  Result<data::Value> server_uri(const QueryScope& scope) const;
  Result<data::Value> of_sets(std::string_view key, const QueryScope& scope) const;
  Result<data::Value> of_groups(std::string_view key, const QueryScope& scope,
                                const Gathered& gathered) const;
  Result<data::Value> servers_of_machine() const;
  Result<data::Value> table(const QueryScope& scope, std::vector<ProcessRow> rows) const;
  Result<data::Value> process(std::string_view key, const QueryScope& scope, const Gathered& gathered) const;
  std::vector<ProcessRow> rows_of(const QueryScope& scope, const Gathered& gathered) const;
  Result<data::Value> job_status(const QueryScope& scope, const Gathered& gathered) const;
  std::optional<MemoryReport> memory_of(const QueryScope& scope, const Gathered& gathered) const;
  Result<data::Value> memory(std::string_view key, const QueryScope& scope, const Gathered& gathered) const;
  Result<data::Value> of_realm(std::string_view key, const QueryScope& scope) const;
  bool is_of_this_node(const QueryScope& scope) const;

  const Jobs& jobs_;
  const ProcessSets& sets_;
  const GroupTable& groups_;
  const OwnReport& own_;
  const HostAttributes& host_attributes_;
  const Processes& processes_;
  const Cluster& cluster_;
  const Calls& calls_;
};

}  // namespace weft::server
