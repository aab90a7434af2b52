// SPDX-License-Identifier: BSD-3-Clause
// What this server reports of itself: its part of the cluster's report. Nothing is kept for it: the observer
// pays. The loop's thread only.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/server/cards/cards.hpp"
#include "core/server/groups/group_reports.hpp"
#include "core/server/jobs/process_sets.hpp"
#include "core/server/reports/report.hpp"

namespace weft::server {

class OwnReport {
 public:
  OwnReport(std::string host_name, Jobs& jobs, Cards& cards, CardExchange& exchange, Fences& fences,
            GroupReports& groups, GroupTable& group_table, const ProcessSets& sets, Published& published,
            Cluster& cluster)
      : host_name_(std::move(host_name)),
        jobs_(jobs),
        cards_(cards),
        exchange_(exchange),
        fences_(fences),
        groups_(groups),
        group_table_(group_table),
        sets_(sets),
        published_(published),
        cluster_(cluster),
        started_(std::chrono::steady_clock::now()) {}

  NodeReport make(const ReportRequest& request) const;
  /// Names, separated by commas.
  std::string namespaces() const;
  std::vector<NodeNumber> members_of(const FenceName& name) const { return fences_.nodes_of(name); }
  MemoryReport memory() const;
  const std::string& host_name() const noexcept { return host_name_; }

 private:
  JobReport of(const Job& job) const;
  void add_names(NodeReport& out) const;
  std::vector<RegionEntry> regions() const;

  const std::string host_name_;
  Jobs& jobs_;
  Cards& cards_;
  CardExchange& exchange_;
  Fences& fences_;
  GroupReports& groups_;
  GroupTable& group_table_;
  const ProcessSets& sets_;
  Published& published_;
  Cluster& cluster_;
  const std::chrono::steady_clock::time_point started_;
};

}  // namespace weft::server
