// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/own_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace weft::server {

NodeReport OwnReport::make(const ReportRequest& request) const {
  NodeReport out;
  if (request.everything == 0) {
    for (const auto& name : request.fences)
      if (auto part = name.operation.is_fence() ? fences_.part_in(name) : groups_.part_in(name))
        out.fences.push_back(std::move(*part));
    return out;
  }
  out.host = host_name_;
  out.pid = ::getpid();
  if (cluster_.is_open()) out.transport = cluster_.fabric().description();
  const auto age = std::chrono::steady_clock::now() - started_;
  out.age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  jobs_.each([&](const Job& job) { out.jobs.push_back(of(job)); });
  out.fences = fences_.open_parts();
  std::ranges::move(groups_.open_parts(), std::back_inserter(out.fences));
  const auto counts = counts_of(
      {&fences_, &exchange_, cards_.modex(), cluster_.is_open() ? &cluster_ : nullptr, &published_});
  for (std::size_t i = 0; i < counts.size(); ++i) out.counters[i] = counts[i].value;
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

}  // namespace weft::server
