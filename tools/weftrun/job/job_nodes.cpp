// SPDX-License-Identifier: BSD-3-Clause
// Job, third part: reports of the daemons of other nodes.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tools/host/launch_info.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/job/job.hpp"

namespace weft::weftrun {

using job::Rank;
namespace exit_status = messages::exit_status;

void Job::on_all_connected() {
  if (state_ != State::starting) return;
  launch_.launch_info = host::gather_launch_info(launch_.nspace, launch_.apps, host::Servers::included);
  daemons_->launch(launch_, [this] {
    is_launched_ = true;
    if (local_) start_own_ranks();
  });
}

/// For a terminal only: a pipe or a file gets what has happened, not what has not yet.
void Job::show_progress(std::chrono::seconds after) {
  progress_.start(after, [this] {
    if (state_ != State::starting) return;
    const std::chrono::duration<double> waited = Clock::now() - served_;
    const auto now = daemons_->progress();
    console_->print_result(
        messages::still_starting(now.daemons, now.reported, now.started, now.missing, waited.count()));
    constexpr std::chrono::seconds pause{10};
    show_progress(pause);
  });
}

void Job::on_node_started(std::uint32_t node, const channel::report::Started& report) {
  const auto ranks = table_.ranks_on(node);
  for (std::size_t i = 0; i < report.pids.size(); ++i) {
    ranks_.set_started(ranks[i], report.pids[i]);
    output_->connect_remote(ranks[i]);
  }
  if (!report.pids.empty()) announce_start();
  interfaces_ = report.interfaces;
  for (const auto& note : report.notes) console_->print(note);
  if (report.failure.empty()) return on_node_runs();
  const int exit_code = report.exit_code == 0 ? exit_status::own_failure : report.exit_code;
  raise(Event::start_failed, exit_code, fmt::format("[{}] {}", plan_.nodes[node].name, report.failure));
}

void Job::on_output(channel::report::Output report, channel::Reply written) {
  output_->write(report.rank, report.stream, std::move(report.bytes), std::move(written));
}

void Job::on_ended(const channel::report::Ended& report) {
  on_rank_end({report.rank, report.wait_status, report.connected, report.finalized, report.after},
              {report.out_bytes, report.error_bytes});
}

void Job::on_input_unwanted(std::uint32_t node) {
  input_->disconnect_node(node);
}

void Job::on_other_pmix(std::uint32_t node, const std::string& file) {
  if (!other_pmix_.empty()) return;
  other_pmix_ = file;
  other_pmix_host_ = plan_.nodes[node].name;
}

void Job::on_node_lost(std::uint32_t node, const std::string& line) {
  if (!line.empty())
    fail(Event::node_lost, exit_status::own_failure, fmt::format("node {}", plan_.nodes[node].name), line);
  input_->disconnect_node(node);
  for (const Rank rank : table_.ranks_on(node)) {
    ranks_.set_ended(rank);
    output_->close_remote(rank);
  }
  judge_held_ends();
}

void Job::on_agent_line(const std::string& line) {
  console_->pass_on(line);
}

void Job::on_detail(const std::string& text) {
  console_->print_detail(text);
}

}  // namespace weft::weftrun
