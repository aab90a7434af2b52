// SPDX-License-Identifier: BSD-3-Clause
// JobRun, third part: reports of the daemons of other nodes.
#include <fmt/format.h>

#include <utility>

#include "tools/weftrun/launcher/job_run.hpp"

namespace weft::weftrun {

using job::Rank;

void JobRun::on_node_started(std::uint32_t node, const channel::report::Started& report) {
  if (auto* const account = records_.account()) account->node_started(node);
  if (auto* const trace = records_.trace()) trace->node_started(node);
  const auto ranks = table_.ranks_on(node);
  for (std::size_t i = 0; i < report.pids.size(); ++i) output_.connect_far(ranks[i]);
  interfaces_ = report.interfaces;
  for (const auto& note : report.notes) place_.run.console().print(note);
  jobs::Job::Started started{node, report.pids, report.exit_code, {}};
  if (!report.failure.empty())
    started.failure = fmt::format("[{}] {}", plan_.nodes[node].name, report.failure);
  carry_out(job_.started(started));
}

void JobRun::on_known_everywhere() {
  tell_if_all_run();
  place_.watcher.on_job_known(*this);
}

void JobRun::add_witness(std::uint32_t node) {
  if (far_ != nullptr) far_->add_witness(node, launch_);
}

void JobRun::on_output(channel::report::Output report, channel::Reply written) {
  output_.write({std::move(report.nspace), report.rank, report.stream}, std::move(report.bytes),
                [written = std::move(written)](bool) { written(); });
}

void JobRun::on_own_rank_ended(const job::RankEnd& ended) {
  on_ended(ended);
  output_.check_room(ended.rank);
}

void JobRun::on_ended(const job::RankEnd& ended) {
  input_->disconnect(ended.rank);
  place_.streams.lose_process({launch_.nspace, ended.rank});
  carry_out(job_.rank_ended(ended));
}

void JobRun::on_connected_late(Rank rank) {
  carry_out(job_.connected_late(rank));
}

void JobRun::on_aborted(const job::AbortRequest& request) {
  carry_out(job_.aborted(request));
}

void JobRun::on_node_settled(std::uint32_t) {
  carry_out(job_.node_settled());
}

void JobRun::on_start_times(std::uint32_t node, const job::NodeStart& start) {
  if (auto* const account = records_.account()) account->take(node, start);
}

void JobRun::on_trace(std::uint32_t node, job::NodeTrace told) {
  if (auto* const trace = records_.trace()) trace->take(node, std::move(told));
}

void JobRun::on_held(std::uint32_t node, const job::Held& held) {
  carry_out(job_.node_held(node, held));
}

void JobRun::on_input_unwanted(std::uint32_t node) {
  input_->disconnect_node(node);
}

void JobRun::on_other_pmix(std::uint32_t node, const std::string& file) {
  if (!other_pmix_.empty()) return;
  other_pmix_ = file;
  other_pmix_host_ = plan_.nodes[node].name;
}

void JobRun::on_node_lost(std::uint32_t node, const std::string& line) {
  input_->disconnect_node(node);
  place_.streams.lose_node(node);
  for (const Rank rank : table_.ranks_on(node)) {
    output_.close_far(rank);
    place_.streams.lose_process({launch_.nspace, rank});
  }
  carry_out(job_.node_lost(node, line));
}

}  // namespace weft::weftrun
