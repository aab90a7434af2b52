// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/running_jobs.hpp"

#include <fmt/format.h>
#include <pmix_common.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/plan/spawn_plan.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// Of a job that could not be started.
pmix_status_t status_of_start(int exit_code) noexcept {
  switch (exit_code) {
    case exit_status::not_found:
      return PMIX_ERR_JOB_EXE_NOT_FOUND;
    case exit_status::not_executable:
      return PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    case exit_status::timed_out:
      return PMIX_ERR_TIMEOUT;
    default:
      return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
  }
}

}  // namespace

RunningJobs::RunningJobs(const Place& place) : place_(place) {
  JobRunWatcher& watcher = *this;  // a base that make_unique may not see
  auto job = std::make_unique<JobRun>(
      JobRun::Place{place.loop, place.console, place.terminal, watcher, place.streams}, place.options,
      place.plan);
  runs_.push_back({std::move(job)});
}

void RunningJobs::serve(host::Server& server, node::Node* node, cluster::Cluster* cluster) {
  server_ = &server;
  node_ = node;
  cluster_ = cluster;
}

template <class Act>
void RunningJobs::each(Act&& act) {
  for (std::size_t i = 0; i < runs_.size(); ++i) act(*runs_[i].job);  // a job may be added meanwhile
}

JobRun* RunningJobs::job_named(const std::string& nspace) {
  const auto at =
      std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.job->nspace() == nspace; });
  return at == runs_.end() ? nullptr : at->job.get();
}

RunningJobs::Run& RunningJobs::run_of(const JobRun& job) {
  return *std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.job.get() == &job; });
}

// ---- a job that is asked for

/// Each step has a status of its own for what is wrong.
void RunningJobs::spawn(std::optional<std::uint32_t> node, const job::SpawnRequest& request,
                        const Reply& reply) {
  const auto* parent = job_named(request.parent.nspace);
  if (parent == nullptr || index(request.parent.rank) >= parent->table().size() ||
      parent->table().node_of(request.parent.rank) != node)
    return reply({PMIX_ERR_NOT_SUPPORTED, {}});
  if (is_over_ || run_of(*parent).is_ending) return reply({PMIX_ERR_JOB_CANCELED, {}});
  pmix_status_t status = PMIX_ERR_BAD_PARAM;
  try {
    const auto options = options_for(request, *parent);
    status = PMIX_ERR_JOB_INSUFFICIENT_RESOURCES;
    const auto plan = spawn_plan(options, place_.plan, nodes_now());
    if (const auto spares = spares_in(plan); !spares.empty()) return bring_in(spares, {node, request, reply});
    status = PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    start(request, options, plan, reply);
  } catch (const Stop& stop) {
    if (status == PMIX_ERR_JOB_FAILED_TO_LAUNCH) status = status_of_start(stop.exit_code());
    place_.console.print_result(
        messages::not_spawned(request.parent.nspace, number(request.parent.rank), stop.what()));
    reply({status, {}});
  }
}

Options RunningJobs::options_for(const job::SpawnRequest& request, const JobRun& parent) const {
  auto options =
      spawn_options(request, {place_.options, place_.plan}, parent.app_of(request.parent.rank).settings);
  if (const auto limit = place_.options.limit) {
    const auto left =
        *limit - std::chrono::duration_cast<std::chrono::milliseconds>(JobRun::Clock::now() - begun_);
    options.limit = std::clamp(options.limit.value_or(left), std::chrono::milliseconds(1),
                               std::max(left, std::chrono::milliseconds(1)));
  }
  options.tags.job = fmt::format("{}.", last_number_ + 1);
  if (options.output_directory.empty() && !place_.options.output_directory.empty())
    options.output_directory = fmt::format("{}/job.{}", place_.options.output_directory, last_number_ + 1);
  return options;
}

std::vector<NodeNow> RunningJobs::nodes_now() const {
  std::vector<NodeNow> out(place_.plan.all_nodes());
  for (std::uint32_t node = 0; node < out.size(); ++node) {
    out[node].is_lost = cluster_ != nullptr && node != place_.plan.own && cluster_->is_lost(node);
    for (const auto& run : runs_)
      if (!run.is_ending)
        out[node].ranks += static_cast<std::uint32_t>(run.job->table().ranks_on(node).size());
  }
  return out;
}

std::vector<std::uint32_t> RunningJobs::spares_in(const Plan& plan) const {
  std::vector<std::uint32_t> out;
  for (const auto node : plan.distribution.nodes_with_ranks())
    if (cluster_ != nullptr && node != place_.plan.own && cluster_->is_spare(node)) out.push_back(node);
  return out;
}

/// The request is looked at anew when the nodes are there, or lost, and know all jobs of the run.
void RunningJobs::bring_in(const std::vector<std::uint32_t>& spares, Waiting waiting) {
  has_new_nodes_ = true;
  cluster_->want(spares, [this, spares, waiting = std::move(waiting)] {
    for (const auto node : spares) each([node](JobRun& job) { job.add_witness(node); });
    waiting_.push_back(waiting);
    serve_waiting();
  });
}

void RunningJobs::serve_waiting() {
  const bool is_known = std::all_of(runs_.begin(), runs_.end(), [](const Run& run) {
    return run.is_ending || run.job->is_known_everywhere();
  });
  if (!is_known) return;
  for (const auto& waiting : std::exchange(waiting_, {})) spawn(waiting.node, waiting.request, waiting.reply);
}

void RunningJobs::start(const job::SpawnRequest& request, const Options& options, const Plan& plan,
                        const Reply& reply) {
  JobRunWatcher& watcher = *this;
  auto job = std::make_unique<JobRun>(
      JobRun::Place{place_.loop, place_.console, place_.terminal, watcher, place_.streams}, options, plan,
      JobName{++last_number_, request.parent});
  try {
    if (node_ != nullptr) job->plan_here(*node_);
    job->register_with(*server_);
    if (cluster_ != nullptr) job->add_to(*cluster_);
    job->begin();
  } catch (const Stop&) {
    job->leave();
    throw;
  }
  auto& run = runs_.emplace_back();
  run.job = std::move(job);
  run.parent = request.parent;
  run.tells_start = request.tells_start;
  run.reply = reply;
  if (request.start_seconds != 0) limit_start(run, std::chrono::seconds(request.start_seconds));
  run.job->start(std::exchange(has_new_nodes_, false));
}

void RunningJobs::limit_start(Run& run, std::chrono::seconds time) {
  run.start_limit = std::make_unique<GraceTimer>(place_.loop);
  run.start_limit->start(time, [this, time, nspace = run.job->nspace()] {
    auto* const job = job_named(nspace);
    if (job != nullptr && !job->has_run()) job->on_time_up(time);
  });
}

// ---- what processes want done to others

/// Nothing is done where a target is missing.
job::Result RunningJobs::control(const job::ControlRequest& request) {
  for (const auto& target : request.targets) {
    const auto* const job = job_named(target.nspace);
    if (job == nullptr || run_of(*job).is_ending) return {PMIX_ERR_NOT_FOUND, {}};
    if (!target.ranks.empty() && index(target.ranks.back()) >= job->table().size())
      return {PMIX_ERR_BAD_PARAM, {}};
  }
  using What = job::ControlRequest::What;
  for (const auto& target : request.targets) {
    auto& job = *job_named(target.nspace);
    const bool ends_all = (request.what == What::terminate || request.what == What::kill) &&
                          (target.ranks.empty() || target.ranks.size() == job.table().size());
    if (ends_all) run_of(job).is_controlled = true;
    job.control(request, ends_all ? std::vector<job::Rank>() : target.ranks);
  }
  return {PMIX_SUCCESS, {}};
}

// ---- the lives of jobs

bool RunningJobs::is_here(const job::ProcessName& process) {
  const auto* const job = job_named(process.nspace);
  return job != nullptr && job->table().node_of(process.rank) == place_.plan.own;
}

/// This server's own processes hear of each job of the run.
void RunningJobs::on_job_launched(JobRun& job) {
  const auto& run = run_of(job);
  if (run.tells_start && !is_here(*run.parent))
    server_->tell_job(PMIX_LAUNCH_COMPLETE, job.nspace(), *run.parent);
}

void RunningJobs::on_job_runs(JobRun& job) {
  if (const auto reply = std::exchange(run_of(job).reply, {})) reply({PMIX_SUCCESS, job.nspace()});
}

void RunningJobs::on_job_stops(JobRun& job) {
  const auto& stopped = run_of(job);
  for (const auto& other : runs_) {
    if (&other == &stopped || other.is_ending || !are_connected(job.nspace(), other.job->nspace())) continue;
    asio::post(place_.loop, [this, other = other.job->nspace(), name = job.nspace()] {
      auto* const connected = job_named(other);
      const auto* const reason = job_named(name);
      if (connected != nullptr && reason != nullptr && !run_of(*connected).is_ending)
        connected->end_with(*reason);
    });
  }
}

void RunningJobs::on_connected(const std::vector<std::string>& nspaces, bool are_connected) {
  if (are_connected) return static_cast<void>(connected_.insert(nspaces));
  if (const auto known = connected_.find(nspaces); known != connected_.end()) connected_.erase(known);
}

bool RunningJobs::are_connected(const std::string& one, const std::string& other) const {
  const auto has = [](const std::vector<std::string>& all, const std::string& nspace) {
    return std::find(all.begin(), all.end(), nspace) != all.end();
  };
  return std::any_of(connected_.begin(), connected_.end(),
                     [&](const auto& all) { return has(all, one) && has(all, other); });
}

void RunningJobs::on_job_ending(JobRun& job) {
  auto& run = run_of(job);
  run.is_ending = true;
  const bool are_all =
      std::all_of(runs_.begin(), runs_.end(), [](const Run& each) { return each.is_ending; });
  serve_waiting();
  if (are_all) is_over_ = true, place_.watcher.on_all_ending();
}

void RunningJobs::on_job_over(JobRun& job) {
  auto& run = run_of(job);
  // A job of short programs may be over before all nodes know of it.
  if (const auto reply = std::exchange(run.reply, {}))
    reply(job.has_run() ? job::Result{PMIX_SUCCESS, job.nspace()}
                        : job::Result{status_of_start(job.exit_code()), {}});
  if (run.parent && job.has_run() && !run.is_controlled && first_failure_ == 0)
    first_failure_ = job.exit_code();
  run.is_over = true;
  if (std::all_of(runs_.begin(), runs_.end(), [](const Run& each) { return each.is_over; }))
    return place_.watcher.on_all_over();
  // Not inside a call of the job.
  if (run.parent) asio::post(place_.loop, [this, nspace = job.nspace()] { forget(nspace); });
}

void RunningJobs::forget(const std::string& nspace) {
  const auto at =
      std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.job->nspace() == nspace; });
  if (at == runs_.end()) return;
  at->job->leave();
  runs_.erase(at);
  std::erase_if(connected_,
                [&](const auto& all) { return std::find(all.begin(), all.end(), nspace) != all.end(); });
}

// ---- what happens to the process

void RunningJobs::on_end_signal(int signal) {
  each([signal](JobRun& job) { job.on_end_signal(signal); });
}

void RunningJobs::on_relayed_signal(int signal) {
  each([signal](JobRun& job) { job.on_relayed_signal(signal); });
}

void RunningJobs::on_written() {
  each([](JobRun& job) { job.on_written(); });
}

void RunningJobs::on_reader_lost(job::Stream stream) {
  each([stream](JobRun& job) { job.on_reader_lost(stream); });
}

void RunningJobs::on_output_lost(const std::string& what, int error) {
  each([&](JobRun& job) { job.on_output_lost(what, error); });
}

int RunningJobs::exit_code() const noexcept {
  const int first = runs_.front().job->exit_code();
  return first != 0 ? first : first_failure_;
}

}  // namespace weft::weftrun
