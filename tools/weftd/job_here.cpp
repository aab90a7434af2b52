// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/job_here.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::weftd {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

void change_directory(const std::string& directory) {
  if (::chdir(directory.c_str()) == 0) return;
  throw Stop(exit_status::own_failure, messages::no_directory_here(directory, errno));
}

}  // namespace

JobHere::JobHere(Place& place, std::string nspace, std::function<void()> over)
    : place_(place),
      nspace_(std::move(nspace)),
      over_(std::move(over)),
      tree_({place.loop, place.channel, place.node.number(), place.launcher}, nspace_),
      ranks_(place.node.add({[this](const job::RankEnd& ended) { on_rank_ended(ended); },
                             [this](Rank rank) {
                               report(channel::report::ConnectedLate{nspace_, rank}, Way::straight);
                             },
                             [this](const job::AbortRequest& request) {
                               report(channel::report::Aborted{nspace_, request}, Way::straight);
                             },
                             [this] { step(JobEvent::settled); },
                             [this](const job::Held& held) {
                               report(channel::report::HeldHere{nspace_, held});
                             }})),
      output_pipes_(place.loop, nspace_, *this, [this] { step(JobEvent::drained); }),
      input_pipes_(place.loop, [this] { report(channel::report::InputUnwanted{nspace_}); }),
      push_pipes_(place.loop) {}

JobHere::~JobHere() {
  place_.node.remove(ranks_);
}

template <class Report>
void JobHere::report(const Report& report, Way way) {
  tell_ends();
  tree_.reports().add(report, way);
}

void JobHere::write(const io::Flow& flow, std::string bytes, io::Written written) {
  place_.channel.send({place_.launcher},
                      channel::report::Output{flow.nspace, flow.rank, flow.stream, std::move(bytes)},
                      std::move(written));
}

void JobHere::step(JobEvent event) {
  const auto [action, next] = job_step(state_, event);
  state_ = next;
  switch (action) {
    case JobAction::none:
      return;
    case JobAction::start:
      return start();
    case JobAction::tell:
      return tell_settled();
    case JobAction::end_ranks:
      close_input();
      return ranks_.send(SIGKILL);
    case JobAction::tell_and_end_orphans:
      tell_settled();
      return end_orphans();
    case JobAction::end_orphans:
      return end_orphans();
    case JobAction::forget:
      return over_();
  }
}

// ---- orders

void JobHere::launch(const channel::order::Launch& launch, const std::optional<Stop>& refusal) {
  is_launched_ = true;
  launch_ = &launch;
  refusal_ = refusal;
  step(JobEvent::launched);
  launch_ = nullptr;
}

void JobHere::start() {
  channel::report::Started started{.nspace = nspace_};
  try {
    if (refusal_) throw *refusal_;
    start_ranks(started);
  } catch (const Stop& stop) {
    started.exit_code = stop.exit_code();
    started.failure = stop.what();
  }
  report(started, started.failure.empty() ? Way::by_the_tree : Way::straight);
  ranks_.running() != 0 ? place_.node.watch(ranks_) : step(JobEvent::settled);
}

void JobHere::start_ranks(channel::report::Started& report) {
  const auto& launch = *launch_;
  const auto distribution = placement::decode_distribution(
      launch.distribution, static_cast<std::uint32_t>(launch.hosts.size()), job::most_ranks);
  const placement::RankTable table(distribution);
  const bool is_of_map = place_.node.number() < table.nodes() || !launch.late_host.empty();
  const bool are_keys_of_map = std::all_of(
      launch.node_keys.begin(), launch.node_keys.end(),
      [&](const auto& key) { return key.values.size() == 1 || key.values.size() == table.nodes(); });
  if (launch.hosts.size() != table.nodes() || !is_of_map || !are_keys_of_map || launch.apps.empty())
    throw Stop(exit_status::own_failure, messages::damaged_order());
  change_directory(launch.directory);
  output_pipes_.set_credit(io::Pipes::credit_of(table.nodes(), table.size()));
  if (launch.pseudo_terminals) output_pipes_.use_terminals();
  ranks_.plan(launch, table, report.notes);
  ranks_.register_with(place_.server, launch.pmi);
  report.interfaces = ranks_.interfaces();
  const auto failure = ranks_.start([&](Rank rank) {
    return node::LocalRanks::Streams{connect_input(rank), output_pipes_.connect(rank, job::Stream::out),
                                     output_pipes_.connect(rank, job::Stream::error)};
  });
  for (const Rank rank : ranks_.all())
    if (ranks_.pid(rank) > 0) report.pids.push_back(ranks_.pid(rank));
  if (!failure || !report.pids.empty()) place_.server.announce_job(PMIX_EVENT_JOB_START, nspace_);
  if (failure) report.exit_code = failure->exit_code, report.failure = failure->line;
  if (launch.wants_bindings)
    for (auto& line : ranks_.bindings()) report.notes.push_back(std::move(line));
}

process::Fd JobHere::connect_input(Rank rank) {
  if (!launch_->input.includes(rank)) return io::nothing_to_read();
  return launch_->input.is_pushed ? push_pipes_.connect(rank) : input_pipes_.connect(rank);
}

void JobHere::close_input() {
  input_pipes_.close();
  push_pipes_.close();
}

void JobHere::signal(int number, const std::vector<Rank>& named) {
  if (named.empty() && (number == SIGTERM || number == SIGKILL)) {
    is_told_to_end_ = true;
    step(JobEvent::canceled);
  }
  ranks_.send(number, named);
}

void JobHere::write_input(const std::string& bytes, channel::Reply taken) {
  if (!bytes.empty()) return input_pipes_.write(bytes, std::move(taken));
  input_pipes_.end();
  taken();
}

void JobHere::push_input(const channel::order::Pushed& input, channel::Reply taken) {
  push_pipes_.write(input.ranks, input.bytes, input.ends, [taken = std::move(taken)] { taken(); });
}

void JobHere::tell_places(std::uint64_t number, bool wants_stacks) {
  place_.node.find_places(ranks_, wants_stacks, [this, number](job::Places places) {
    place_.channel.send({place_.launcher}, channel::report::PlacesHere{nspace_, number, std::move(places)});
  });
}

void JobHere::end(const std::optional<job::Ending>& ending, channel::Reply gone) {
  gone_.push_back(std::move(gone));
  is_told_to_end_ = true;
  if (ending) place_.server.announce_end_of_job(nspace_, *ending);
  step(JobEvent::ended);
}

// ---- events of the ranks

void JobHere::on_rank_ended(const job::RankEnd& ended) {
  input_pipes_.disconnect(ended.rank);
  push_pipes_.disconnect(ended.rank);
  // A launcher that has only lost its agent still reads reports: ends of ranks that we kill for that would
  // hide the reason.
  if (!place_.has_launcher) return;
  ends_.push_back(ended);
  ends_.back().written = output_pipes_.written_bytes(ended.rank);
  if (ends_.size() == 1)
    asio::post(place_.loop, [self = weak_self_.get()] {
      if (auto* job = self()) job->tell_ends();
    });
}

/// Those that the loop has seen in one turn are one report. A failure may decide what becomes of the job.
void JobHere::tell_ends() {
  if (ends_.empty()) return;
  const bool may_decide = !is_told_to_end_ && std::any_of(ends_.begin(), ends_.end(), [](const auto& end) {
    return end.wait_status != 0 || (end.connected && !end.finalized);
  });
  tree_.reports().add(channel::report::Ended{nspace_, std::exchange(ends_, {})},
                      may_decide ? Way::straight : Way::by_the_tree);
}

void JobHere::tell_settled() {
  if (!place_.has_launcher) return;
  channel::report::Settled settled{nspace_, ranks_.other_pmix()};
  if (ranks_.map().accounts) settled.start = ranks_.start_times();
  settled.trace = ranks_.trace();
  report(settled, settled.trace ? Way::straight : Way::by_the_tree);  // traces are long
}

void JobHere::end_orphans() {
  close_input();
  place_.node.reap_orphans(ranks_);
  if (output_pipes_.is_drained()) step(JobEvent::drained);
}

}  // namespace weft::weftd
