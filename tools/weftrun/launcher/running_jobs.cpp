// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/running_jobs.hpp"

#include <fmt/format.h>
#include <pmix_common.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "tools/allocation/hosts.hpp"
#include "tools/allocation/own_names.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/plan/debugger_plan.hpp"
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

RunningJobs::RunningJobs(const Place& place)
    : place_(place), streams_(place.loop, place.say, [this] {
        for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].job->on_written();
      }) {}

/// Its start tells the nodes of each other.
JobRun& RunningJobs::add_first(std::shared_ptr<UserRun> run) {
  has_new_nodes_ = false;
  auto& entry = jobs_.emplace_back();
  JobRunWatcher& watcher = *this;  // a base that make_unique may not see
  entry.job = std::make_unique<JobRun>(JobRun::Place{place_.loop, *run, watcher, streams_}, run->options(),
                                       place_.plan);
  entry.run = std::move(run);
  return *entry.job;
}

void RunningJobs::serve(host::Server& server, node::Node* node, cluster::Cluster* cluster) {
  server_ = &server;
  node_ = node;
  cluster_ = cluster;
  streams_.serve(cluster);
}

template <class Act>
void RunningJobs::each(const UserRun& run, Act&& act) {
  for (std::size_t i = 0; i < jobs_.size(); ++i)  // a job may be added meanwhile
    if (jobs_[i].run.get() == &run) act(*jobs_[i].job);
}

JobRun* RunningJobs::job_named(const std::string& nspace) {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const Entry& entry) { return entry.job->nspace() == nspace; });
  return at == jobs_.end() ? nullptr : at->job.get();
}

RunningJobs::Entry& RunningJobs::entry_of(const JobRun& job) {
  return *std::find_if(jobs_.begin(), jobs_.end(),
                       [&](const Entry& entry) { return entry.job.get() == &job; });
}

// ---- a job of a user

const JobRun* RunningJobs::start(const std::shared_ptr<UserRun>& run) {
  const auto plan = plan_now(run->options());
  if (!plan) return nullptr;
  if (const auto awaited = awaited_in(*plan); !awaited.empty()) {
    bring_in(awaited, [this] { place_.watcher.on_nodes_added(); });
    return nullptr;
  }
  return &add(make(run, run->options(), *plan, {}));
}

/// Their daemons are started when a job has ranks there.
void RunningJobs::add_nodes(const Options& options) {
  if (options.added_hosts.empty()) return;
  auto& plan = place_.plan;
  const auto own = allocation::OwnNames::here();
  const auto before = plan.all_nodes();
  weftrun::add_nodes(
      plan, allocation::merged(options.added_hosts), [this](auto node) { return is_lost(node); },
      [&](const std::string& name) { return own.matches(name); });
  for (auto node = before; node < plan.all_nodes(); ++node) cluster_->name(node, plan.node(node).name);
}

bool RunningJobs::is_lost(std::uint32_t node) const {
  return cluster_ != nullptr && node != place_.plan.own && cluster_->nodes().is_lost(node);
}

/// A job of more ranks than there are slots runs alone, where the slots are not the user's word.
std::optional<Plan> RunningJobs::plan_now(Options options) const {
  auto now = nodes_now();
  try {
    return spawn_plan(options, place_.plan, now);
  } catch (const Stop&) {
    bool are_others = false;
    for (auto& node : now) are_others = std::exchange(node.ranks, 0) != 0 || are_others;
    if (!are_others && !place_.plan.may_oversubscribe) throw;
    options.oversubscribe = options.oversubscribe || place_.plan.may_oversubscribe;
    auto plan = spawn_plan(options, place_.plan, now);
    return are_others ? std::nullopt : std::optional(std::move(plan));
  }
}

// ---- a job that is asked for

/// Of a process of a job, or of a tool; null: it is neither, or of a job that has ended.
std::shared_ptr<UserRun> RunningJobs::run_of(const job::ProcessName& process,
                                             std::optional<std::uint32_t> node) {
  if (const auto* const job = job_named(process.nspace)) {
    const bool is_there =
        index(process.rank) < job->table().size() && job->table().node_of(process.rank) == node;
    return is_there && !entry_of(*job).is_ending ? entry_of(*job).run : nullptr;
  }
  return process.nspace.starts_with(own_namespace()) ? nullptr : place_.watcher.run_of_tools();
}

void RunningJobs::spawn(std::optional<std::uint32_t> node, const job::SpawnRequest& request,
                        const Reply& reply) {
  auto parts = jobs_of(request);
  if (parts.size() == 1) return spawn_job(node, parts.front(), reply);
  const auto first = parts.front();
  parts.erase(parts.begin());
  spawn_job(node, first, [this, node, others = std::move(parts), reply](const job::Result& result) {
    if (result.status != PMIX_SUCCESS) return reply(result);
    // Not inside a call of the job.
    asio::post(place_.loop,
               [this, node, others, result, reply] { spawn_others(node, others, result, reply); });
  });
}

/// One after the other, when the job of the caller's programs runs, which the reply is about. It ends where
/// one of the others cannot be; one that has ended by itself has no daemons.
void RunningJobs::spawn_others(std::optional<std::uint32_t> node, std::vector<job::SpawnRequest> others,
                               const job::Result& first, const Reply& reply) {
  if (others.empty()) return reply(first);
  auto next = std::move(others.front());
  others.erase(others.begin());
  for (auto& program : next.programs)
    if (program.daemons.are_meant) program.daemons.target = {first.nspace, job::Rank{PMIX_RANK_WILDCARD}};
  const auto parent = next.parent;
  spawn_job(node, next,
            [this, node, others = std::move(others), first, parent, reply](const job::Result& result) {
              const auto* const job = job_named(first.nspace);
              const bool has_ended = job == nullptr || entry_of(*job).is_ending;
              if (result.status != PMIX_SUCCESS && !has_ended) {
                control({parent, job::ControlRequest::What::kill, 0, {{first.nspace, {}}}});
                return reply({result.status, {}});
              }
              asio::post(place_.loop,
                         [this, node, others, first, reply] { spawn_others(node, others, first, reply); });
            });
}

/// Where the job goes. Throws Stop.
Plan RunningJobs::plan_for(const job::SpawnRequest& request, const Options& options) {
  if (!goes_to_target(request)) return spawn_plan(options, place_.plan, nodes_now());
  const auto& nspace = request.programs.front().daemons.target->nspace;
  const auto* const target = job_named(nspace);
  if (target == nullptr || entry_of(*target).is_ending)
    refuse(fmt::format("{}, which daemons are to be beside, is no job that runs here", nspace));
  return debugger_plan(request, place_.plan, nodes_now(), target->table());
}

/// Each step has a status of its own for what is wrong.
void RunningJobs::spawn_job(std::optional<std::uint32_t> node, const job::SpawnRequest& request,
                            const Reply& reply, bool adds_nodes) {
  const auto run = run_of(request.parent, node);
  if (!run || run->is_over()) return reply({PMIX_ERR_JOB_CANCELED, {}});
  pmix_status_t status = PMIX_ERR_BAD_PARAM;
  try {
    const auto options = options_for(request, *run, job_named(request.parent.nspace));
    status = PMIX_ERR_JOB_INSUFFICIENT_RESOURCES;
    if (adds_nodes) add_nodes(options);
    const auto plan = plan_for(request, options);
    if (const auto awaited = awaited_in(plan); !awaited.empty())
      return bring_in(awaited, [this, node, request, reply] { spawn_job(node, request, reply, false); });
    status = PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    start_spawned(run, request, options, plan, reply);
  } catch (const Stop& stop) {
    if (status == PMIX_ERR_JOB_FAILED_TO_LAUNCH) status = status_of_start(stop.exit_code());
    run->console().print_result(
        messages::not_spawned(request.parent.nspace, number(request.parent.rank), stop.what()));
    reply({status, {}});
  }
}

Options RunningJobs::options_for(const job::SpawnRequest& request, const UserRun& run,
                                 const JobRun* parent) const {
  const auto& of_run = run.options();
  const auto inherited = parent == nullptr ? std::vector<job::EnvironmentSetting>()
                                           : parent->app_of(request.parent.rank).settings;
  auto options = spawn_options(request, {of_run, place_.plan}, inherited);
  for (auto& app : options.apps)  // that of this process may be another
    if (app.directory.empty()) app.directory = run.surroundings().directory;
  if (const auto limit = of_run.limit) {
    const auto left = *limit - std::chrono::duration_cast<std::chrono::milliseconds>(run.age());
    options.limit = std::clamp(options.limit.value_or(left), std::chrono::milliseconds(1),
                               std::max(left, std::chrono::milliseconds(1)));
  }
  options.stuck_after = of_run.stuck_after;
  options.tags.job = fmt::format("{}.", last_number_ + 1);
  if (options.output_directory.empty() && !of_run.output_directory.empty())
    options.output_directory = fmt::format("{}/job.{}", of_run.output_directory, last_number_ + 1);
  return options;
}

std::vector<NodeNow> RunningJobs::nodes_now() const {
  std::vector<NodeNow> out(place_.plan.all_nodes());
  for (std::uint32_t node = 0; node < out.size(); ++node) {
    out[node].is_lost = is_lost(node);
    for (const auto& entry : jobs_)
      if (!entry.is_ending && !entry.are_daemons)
        out[node].ranks += static_cast<std::uint32_t>(entry.job->table().ranks_on(node).size());
  }
  return out;
}

std::vector<std::uint32_t> RunningJobs::awaited_in(const Plan& plan) const {
  std::vector<std::uint32_t> out;
  for (const auto node : plan.distribution.nodes_with_ranks())
    if (cluster_ != nullptr && node != place_.plan.own && !cluster_->nodes().is_settled(node))
      out.push_back(node);
  return out;
}

/// What waits for them looks at them anew.
void RunningJobs::bring_in(const std::vector<std::uint32_t>& nodes, Waiting waiting) {
  cluster_->want(nodes, [this, nodes, waiting = std::move(waiting)] {
    // Not before they are there: another job may start meanwhile, with the contacts that are known then.
    has_new_nodes_ = true;
    for (const auto node : nodes)
      for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].job->add_witness(node);
    waiting_.push_back(waiting);
    serve_waiting();
  });
}

void RunningJobs::serve_waiting() {
  const bool is_known = std::all_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) {
    return entry.is_ending || entry.job->is_known_everywhere();
  });
  if (!is_known) return;
  for (const auto& waiting : std::exchange(waiting_, {})) waiting();
}

void RunningJobs::start_spawned(const std::shared_ptr<UserRun>& run, const job::SpawnRequest& request,
                                const Options& options, const Plan& plan, const Reply& reply) {
  const auto& daemons = request.programs.front().daemons;
  auto entry =
      make(run, options, plan, {0, request.parent, daemons.are_meant ? daemons.target : std::nullopt});
  entry.are_daemons = daemons.are_meant;
  entry.tells_start = request.tells_start;
  entry.reply = reply;
  if (request.start_seconds != 0) limit_start(entry, std::chrono::seconds(request.start_seconds));
  add(std::move(entry));
}

RunningJobs::Entry RunningJobs::make(const std::shared_ptr<UserRun>& run, const Options& options,
                                     const Plan& plan, JobName name) {
  JobRunWatcher& watcher = *this;
  name.number = ++last_number_;
  auto job =
      std::make_unique<JobRun>(JobRun::Place{place_.loop, *run, watcher, streams_}, options, plan, name);
  try {
    job->set_up(node_, *server_, cluster_);
    job->begin();
  } catch (const Stop&) {
    job->leave();
    throw;
  }
  return {run, std::move(job), std::move(name.parent)};
}

JobRun& RunningJobs::add(Entry entry) {
  auto& job = *entry.job;
  jobs_.push_back(std::move(entry));
  job.start(std::exchange(has_new_nodes_, false));
  return job;
}

void RunningJobs::limit_start(Entry& entry, std::chrono::seconds time) {
  entry.start_limit = std::make_unique<GraceTimer>(place_.loop);
  entry.start_limit->start(time, [this, time, nspace = entry.job->nspace()] {
    auto* const job = job_named(nspace);
    if (job != nullptr && !job->job().all_run()) job->on_time_up(time);
  });
}

// ---- what processes want done to others

/// Nothing is done where a target is missing.
job::Result RunningJobs::control(const job::ControlRequest& request) {
  for (const auto& target : request.targets) {
    const auto* const job = job_named(target.nspace);
    if (job == nullptr || entry_of(*job).is_ending) return {PMIX_ERR_NOT_FOUND, {}};
    if (!target.ranks.empty() && index(target.ranks.back()) >= job->table().size())
      return {PMIX_ERR_BAD_PARAM, {}};
  }
  using What = job::ControlRequest::What;
  for (const auto& target : request.targets) {
    auto& job = *job_named(target.nspace);
    const bool ends_all = (request.what == What::terminate || request.what == What::kill) &&
                          (target.ranks.empty() || target.ranks.size() == job.table().size());
    if (ends_all) entry_of(job).is_controlled = true;
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
  const auto& entry = entry_of(job);
  if (entry.tells_start && !is_here(*entry.parent))
    server_->tell_job(PMIX_LAUNCH_COMPLETE, job.nspace(), *entry.parent);
  if (!entry.parent) place_.watcher.on_run_launched(*entry.run, job);
}

void RunningJobs::on_job_runs(JobRun& job) {
  if (const auto reply = std::exchange(entry_of(job).reply, {})) reply({PMIX_SUCCESS, job.nspace()});
}

void RunningJobs::on_job_stops(JobRun& job) {
  const auto& stopped = entry_of(job);
  for (const auto& other : jobs_) {
    if (&other == &stopped || other.is_ending || !are_connected(job.nspace(), other.job->nspace())) continue;
    asio::post(place_.loop, [this, other = other.job->nspace(), name = job.nspace()] {
      auto* const connected = job_named(other);
      const auto* const reason = job_named(name);
      if (connected != nullptr && reason != nullptr && !entry_of(*connected).is_ending)
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
  auto& entry = entry_of(job);
  entry.is_ending = true;
  const auto run = entry.run;
  const bool are_all = std::all_of(jobs_.begin(), jobs_.end(),
                                   [&](const Entry& other) { return other.run != run || other.is_ending; });
  serve_waiting();
  if (!are_all) return;
  run->set_over();
  place_.watcher.on_run_ending(*run);
}

void RunningJobs::on_job_over(JobRun& job) {
  auto& entry = entry_of(job);
  const auto run = entry.run;
  // A job of short programs may be over before all nodes know of it.
  if (const auto reply = std::exchange(entry.reply, {}))
    reply(job.job().all_run() ? job::Result{PMIX_SUCCESS, job.nspace()}
                              : job::Result{status_of_start(job.job().exit_code()), {}});
  if (entry.parent && job.job().all_run() && !entry.is_controlled && !entry.are_daemons)
    run->take_failure(job.job().exit_code());
  entry.is_over = true;
  int exit_code = run->first_failure();
  bool are_all = true;
  for (const auto& other : jobs_) {
    if (other.run != run) continue;
    are_all = are_all && other.is_over;
    if (!other.parent && other.job->job().exit_code() != 0) exit_code = other.job->job().exit_code();
  }
  if (are_all) return place_.watcher.on_run_over(*run, exit_code);
  // Not inside a call of the job.
  if (entry.parent) asio::post(place_.loop, [this, nspace = job.nspace()] { forget(nspace); });
}

void RunningJobs::forget(const UserRun& run) {
  std::vector<std::string> nspaces;
  each(run, [&](const JobRun& job) { nspaces.push_back(job.nspace()); });
  for (const auto& nspace : nspaces) forget(nspace);
}

void RunningJobs::forget(const std::string& nspace) {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const Entry& entry) { return entry.job->nspace() == nspace; });
  if (at == jobs_.end()) return;
  at->job->leave();
  jobs_.erase(at);
  std::erase_if(connected_,
                [&](const auto& all) { return std::find(all.begin(), all.end(), nspace) != all.end(); });
}

// ---- what happens to the streams of a run, and what its user does

void RunningJobs::on_end_signal(const UserRun& run, int signal) {
  each(run, [signal](JobRun& job) { job.on_end_signal(signal); });
}

void RunningJobs::on_relayed_signal(const UserRun& run, int signal) {
  each(run, [signal](JobRun& job) { job.on_relayed_signal(signal); });
}

void RunningJobs::on_written(UserRun& run) {
  each(run, [](JobRun& job) { job.on_written(); });
}

/// The ranks' ends of the stream are closed, so that all is as without weftrun: a rank that writes to a
/// stream without a reader gets SIGPIPE, and decides.
void RunningJobs::on_reader_lost(UserRun& run, job::Stream stream) {
  each(run, [stream](JobRun& job) { job.on_reader_lost(stream); });
  run.console().print_detail(messages::reader_gone(name_of(stream)));
}

void RunningJobs::on_write_failed(UserRun& run, job::Stream stream, int error) {
  each(run, [&](JobRun& job) { job.on_output_lost(name_of(stream), error); });
}

}  // namespace weft::weftrun
