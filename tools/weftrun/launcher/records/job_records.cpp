// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/records/job_records.hpp"

#include <fmt/format.h>

#include <utility>

#include "tools/messages/start_messages.hpp"

namespace weft::weftrun {

void JobRecords::print_plan() const {
  of_.run.console().print_detail(
      fmt::format("job {}: {} ranks on {} nodes", of_.launch.nspace, of_.table.size(), of_.table.nodes()));
  if (local_ == nullptr || !of_.run.console().is_verbose()) return;
  for (const auto& line : local_->description()) of_.run.console().print_detail(line);
}

void JobRecords::print_end() const {
  if (local_ != nullptr)
    of_.run.console().print_detail(fmt::format("{} of {} ranks{} connected to the PMIx server",
                                               local_->count_connected(), local_->all().size(),
                                               of_.plan.alone ? "" : " of this node"));
  of_.run.console().print_detail(fmt::format("exit status {}", of_.job.exit_code()));
}

/// With --quiet, too.
void JobRecords::print_account() {
  auto* const account = this->account();
  if (account == nullptr || starts_again() || std::exchange(is_accounted_, true)) return;
  StartAccount::Job job{
      .nspace = of_.launch.nspace, .ranks = of_.table.size(), .nodes = {}, .own = of_.plan.own};
  for (std::uint32_t node = 0; node < of_.table.nodes(); ++node)
    if (!of_.table.ranks_on(node).empty()) job.nodes.push_back(node);
  if (local_ != nullptr) account->take(*of_.plan.own, local_->start_times());
  const auto result = account->result(job);
  auto& console = of_.run.console();
  if (of_.run.options().launch_report == LaunchReport::json)
    return console.pass_on(messages::start_json(result));
  for (const auto& line : messages::start_lines(result)) console.print(line);
}

bool JobRecords::write_trace() {
  auto* const trace = this->trace();
  if (trace == nullptr || starts_again()) return true;
  if (local_ != nullptr && local_->trace()) trace->take(*of_.plan.own, *local_->trace());
  JobTrace::Job job{.nspace = of_.launch.nspace,
                    .hosts = {},
                    .table = of_.table,
                    .own = of_.plan.own,
                    .one_machine = of_.plan.one_machine};
  for (const auto& node : of_.plan.nodes) job.hosts.push_back(node.name);
  const auto why_not = trace->write(job);
  if (!why_not.empty()) of_.run.console().print(messages::trace_not_written(trace->path(), why_not));
  return why_not.empty();
}

}  // namespace weft::weftrun
