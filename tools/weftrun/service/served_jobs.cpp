// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/served_jobs.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/service_messages.hpp"

namespace weft::weftrun::service {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// No word is lost about a wait that is shorter.
constexpr std::chrono::seconds short_wait{1};
/// Of jobs that have ended: for scripts that ask later.
constexpr std::size_t most_remembered = 1000;

bool is_end_signal(int number) noexcept {
  return number == SIGINT || number == SIGTERM || number == SIGHUP;
}
bool is_relayed(int number) noexcept {
  return number == SIGUSR1 || number == SIGUSR2 || number == SIGURG || number == SIGTSTP ||
         number == SIGCONT || number == SIGQUIT;
}

std::uint32_t ranks_of(const Options& options) noexcept {
  std::uint32_t ranks = 0;
  for (const auto& app : options.apps) ranks += app.ranks;
  return ranks;
}

}  // namespace

void ServedJobs::add(std::uint64_t id, Run request, std::vector<base::Fd> descriptors) {
  const job::Attacher attacher = request.surroundings.attacher.value_or(job::Attacher());
  auto& job = jobs_here_[id];
  job.descriptors = std::move(descriptors);
  const UserRun::Streams streams{job.descriptors[0].get(), job.descriptors[1].get(),
                                 job.descriptors[2].get()};
  job.run = std::make_shared<UserRun>(loop_, std::move(request.options).take(),
                                      std::move(request.surroundings), streams, jobs_);
  const auto& options = job.run->options();
  job.state = {id, JobState::waiting, 0, {}, options.apps.front().argv.front(), ranks_of(options), attacher};
  try {
    jobs_.add_nodes(options);
  } catch (const Stop& stop) {
    return refuse(id, stop);
  }
  waiting_.push_back(id);
  start_waiting();
  const auto at = jobs_here_.find(id);
  if (at == jobs_here_.end() || at->second.state.state != JobState::waiting) return;
  events_.changed(at->second.state);
  at->second.patience = std::make_unique<GraceTimer>(loop_);
  at->second.patience->start(
      short_wait, [this, id] { jobs_here_.at(id).run->console().print_result(messages::job_waits(id)); });
}

void ServedJobs::open() {
  is_open_ = true;
  start_waiting();
}

/// In their order: a large job that waits is not overtaken by small ones for ever.
void ServedJobs::start_waiting() {
  while (is_open_ && !is_closed_ && !waiting_.empty()) {
    const auto id = waiting_.front();
    try {
      auto& job = jobs_here_.at(id);
      const auto* const started = jobs_.start(job.run);
      if (started == nullptr) return;
      waiting_.pop_front();
      job.patience.reset();
      if (job.state.state == JobState::waiting) tell(job, JobState::starting, *started);
    } catch (const Stop& stop) {
      waiting_.pop_front();
      refuse(id, stop);
    }
  }
}

void ServedJobs::refuse(std::uint64_t id, const Stop& stop) {
  const auto at = jobs_here_.find(id);
  events_.refused(id, {stop.exit_code(), stop.what()});
  auto state = at->second.state;
  state.state = JobState::ended;
  state.status = stop.exit_code();
  remember(std::move(state));
  jobs_here_.erase(at);
  if (is_empty()) events_.none_left();
}

void ServedJobs::signal(std::uint64_t id, int number) {
  const auto at = jobs_here_.find(id);
  if (at == jobs_here_.end()) return;
  auto& job = at->second;
  if (job.state.state == JobState::waiting) {
    if (is_end_signal(number)) cancel(job, number);
    return;
  }
  if (is_end_signal(number)) jobs_.on_end_signal(*job.run, number);
  if (is_relayed(number)) jobs_.on_relayed_signal(*job.run, number);
}

void ServedJobs::remember(State state) {
  ended_.push_back(std::move(state));
  if (ended_.size() > most_remembered) ended_.pop_front();
}

void ServedJobs::cancel(Job& job, int signal) {
  const auto id = job.state.id;
  std::erase(waiting_, id);
  refuse(id, Stop(exit_status::signal_base + signal,
                  messages::job_canceled(id, messages::ended_by_signal(signal))));
}

void ServedJobs::abandon(std::uint64_t id) {
  const auto at = jobs_here_.find(id);
  if (at == jobs_here_.end()) return;
  const auto run = at->second.run;
  signal(id, SIGHUP);
  run->terminal().give_up();
}

void ServedJobs::close() {
  is_closed_ = true;
  for (const auto id : std::deque(waiting_)) cancel(jobs_here_.at(id), SIGTERM);
  std::vector<std::shared_ptr<UserRun>> runs;
  for (const auto& [id, job] : jobs_here_) runs.push_back(job.run);
  for (const auto& run : runs) jobs_.on_end_signal(*run, SIGTERM);
}

std::vector<State> ServedJobs::list() const {
  std::vector<State> out(ended_.begin(), ended_.end());
  for (const auto& [id, job] : jobs_here_) out.push_back(job.state);
  std::sort(out.begin(), out.end(), [](const State& a, const State& b) { return a.id < b.id; });
  return out;
}

// ---- what becomes of a run

ServedJobs::Job* ServedJobs::find(const UserRun& run) {
  const auto at = std::find_if(jobs_here_.begin(), jobs_here_.end(),
                               [&](const auto& each) { return each.second.run.get() == &run; });
  return at == jobs_here_.end() ? nullptr : &at->second;
}

void ServedJobs::tell(Job& job, JobState state, const JobRun& of) {
  job.state.nspace = of.nspace();
  job.state.ranks = of.table().size();
  job.state.state = state;
  events_.changed(job.state);
}

/// Perhaps inside of start().
void ServedJobs::on_launched(const UserRun& run, const JobRun& first) {
  if (auto* const job = find(run)) tell(*job, JobState::running, first);
}

void ServedJobs::on_ending(const UserRun&) {
  asio::post(loop_, [this] { start_waiting(); });  // its slots are free
}

void ServedJobs::on_over(const UserRun& run, int exit_code) {
  const auto* const job = find(run);
  if (job != nullptr) asio::post(loop_, [this, id = job->state.id, exit_code] { end(id, exit_code); });
}

/// The attacher hears of it last: when it goes, no process has its streams.
void ServedJobs::end(std::uint64_t id, int exit_code) {
  auto job = std::move(jobs_here_.extract(id).mapped());
  jobs_.forget(*job.run);
  job.run.reset();
  job.descriptors.clear();
  job.state.state = JobState::ended;
  job.state.status = exit_code;
  remember(job.state);
  events_.changed(job.state);
  if (is_empty()) events_.none_left();
}

}  // namespace weft::weftrun::service
