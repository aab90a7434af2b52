// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/own_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace weft::server {

NodeReport OwnReport::make(const ReportRequest& request) const {
  NodeReport out;
  if (request.everything == 0) {
    for (const auto& name : request.fences)
      if (auto part = name.operation.empty() ? fences_.part_in(name) : gatherings_.part_in(name))
        out.fences.push_back(std::move(*part));
    return out;
  }
  out.host = host_name_;
  out.pid = ::getpid();
  if (cluster_ != nullptr) out.transport = cluster_->transport_description();
  const auto age = std::chrono::steady_clock::now() - started_;
  out.age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  jobs_.each([&](const Job& job) { out.jobs.push_back(of(job)); });
  out.fences = fences_.open_parts();
  std::ranges::move(gatherings_.open_parts(), std::back_inserter(out.fences));
  out.counters = counters();
  return out;
}

JobReport OwnReport::of(const Job& job) const {
  const auto& view = job.view();
  JobReport out{job.nspace, view.ranks(), view.nodes(), {}, view.board().open_generation() - 1};
  for (std::uint32_t i = 0; i < view.local_count(); ++i)
    ++out.states[view.local(i).state.load(std::memory_order_relaxed) % out.states.size()];
  return out;
}

std::string OwnReport::namespaces() const {
  std::string out;
  jobs_.each([&](const Job& job) { out += (out.empty() ? "" : ",") + job.nspace; });
  return out;
}

/// In the order of counter_names.
std::vector<std::uint64_t> OwnReport::counters() const {
  const auto fences = fences_.counters();
  std::vector<std::uint64_t> out{fences.by_message, fences.boards, fences.no_board};
  if (cluster_ != nullptr) {
    const auto& modex = cards_.modex()->counters();
    const auto& engine = cluster_->engine().counters();
    const auto& mesh = cluster_->mesh().counters();
    const auto& rpc = cluster_->rpc().counters();
    const auto refused = std::accumulate(mesh.refused.begin(), mesh.refused.end(), std::uint64_t{0});
    out.insert(out.end(), {modex.fetches,
                           modex.reads,
                           modex.bytes_read,
                           modex.requests,
                           engine.begun,
                           engine.ended_well,
                           engine.failed,
                           engine.early,
                           exchange_.counters().plain,
                           exchange_.counters().packed,
                           mesh.messages_sent,
                           mesh.bytes_sent,
                           mesh.messages_received,
                           mesh.bytes_received,
                           mesh.gets,
                           mesh.bytes_got,
                           mesh.stalls,
                           refused,
                           mesh.nodes_lost,
                           rpc.sent,
                           rpc.received});
  }
  out.resize(counter_names.size());
  return out;
}

}  // namespace weft::server
