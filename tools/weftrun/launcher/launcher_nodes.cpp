// SPDX-License-Identifier: BSD-3-Clause
// Launcher, third part: reports of the daemons of other nodes.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tools/host/launch_info.hpp"
#include "tools/weftrun/launcher/launcher.hpp"

namespace weft::weftrun {

using job::Rank;

void Launcher::on_all_connected() {
  if (job_.state() != jobs::State::starting) return;
  launch_.launch_info = host::gather_launch_info(launch_.nspace, launch_.apps, host::Servers::included);
  cluster_->launch(*far_, launch_, [this] {
    job_.launched();
    if (local_) start_own_ranks();
  });
}

/// For a terminal only: a pipe or a file gets what has happened, not what has not yet.
void Launcher::show_progress(std::chrono::seconds after) {
  progress_.start(after, [this] {
    if (job_.state() != jobs::State::starting) return;
    const std::chrono::duration<double> waited = Clock::now() - served_;
    const auto now = cluster_->progress();
    console_->print_result(
        messages::still_starting(now.daemons, now.reported, now.started, now.missing, waited.count()));
    constexpr std::chrono::seconds pause{10};
    show_progress(pause);
  });
}

void Launcher::on_node_started(std::uint32_t node, const channel::report::Started& report) {
  const auto ranks = table_.ranks_on(node);
  for (std::size_t i = 0; i < report.pids.size(); ++i) output_->connect_far(ranks[i]);
  interfaces_ = report.interfaces;
  for (const auto& note : report.notes) console_->print(note);
  jobs::Job::Started started{node, report.pids, report.exit_code, {}};
  if (!report.failure.empty())
    started.failure = fmt::format("[{}] {}", plan_.nodes[node].name, report.failure);
  carry_out(job_.started(started));
}

void Launcher::on_output(channel::report::Output report, channel::Reply written) {
  output_->write({std::move(report.nspace), report.rank, report.stream}, std::move(report.bytes),
                 [written = std::move(written)](bool) { written(); });
}

void Launcher::on_ended(const job::RankEnd& ended) {
  carry_out(job_.rank_ended(ended));
}

void Launcher::on_connected_late(Rank rank) {
  carry_out(job_.connected_late(rank));
}

void Launcher::on_aborted(const job::AbortRequest& request) {
  carry_out(job_.aborted(request));
}

void Launcher::on_node_settled(std::uint32_t) {
  carry_out(job_.node_settled());
}

void Launcher::on_input_unwanted(std::uint32_t node) {
  input_->disconnect_node(node);
}

void Launcher::on_other_pmix(std::uint32_t node, const std::string& file) {
  if (!other_pmix_.empty()) return;
  other_pmix_ = file;
  other_pmix_host_ = plan_.nodes[node].name;
}

void Launcher::on_node_lost(std::uint32_t node, const std::string& line) {
  input_->disconnect_node(node);
  for (const Rank rank : table_.ranks_on(node)) output_->close_far(rank);
  carry_out(job_.node_lost(node, line));
}

void Launcher::on_agent_line(const std::string& line) {
  console_->pass_on(line);
}

void Launcher::on_detail(const std::string& text) {
  console_->print_detail(text);
}

void Launcher::on_unused_node_lost(const std::string& line) {
  console_->print_result(line);
}

void Launcher::on_all_exited() {
  loop_.stop();
}

}  // namespace weft::weftrun
