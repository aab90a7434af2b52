// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/jobs.hpp"

#include <algorithm>
#include <set>

#include "base/log_format.hpp"
#include "core/link/messages.hpp"
#include "core/server/jobs/job_info.hpp"
#include "core/server/jobs/job_level.hpp"

namespace weft::server {
namespace {

/// Processes that another server may name of jobs that are not registered here.
constexpr std::uint64_t most_unknown = 4096;

}  // namespace

Job* Jobs::find(std::string_view nspace) {
  auto* job = known(nspace);
  return job != nullptr && !job->has_ended ? job : nullptr;
}

Job* Jobs::known(std::string_view nspace) {
  auto* job = find_announced(nspace);
  return job != nullptr && job->writer ? job : nullptr;
}

Job* Jobs::find_announced(std::string_view nspace) {
  const auto found = jobs_.find(nspace);
  return found == jobs_.end() ? nullptr : found->second.get();
}

std::size_t Jobs::count_clients_of(uid_t user) const {
  std::size_t count = 0;
  for (const auto& [name, job] : jobs_)
    for (const auto& [rank, client] : job->clients) count += client.uid == user ? 1 : 0;
  return count;
}

Job& Jobs::announce(const std::string& nspace) {
  auto& job = jobs_[nspace];
  if (!job) {
    job = std::make_unique<Job>();
    job->nspace = nspace;
  }
  return *job;
}

Result<void> Jobs::register_job(Job& job, int local_size, const data::Infos& infos, bool& is_new) {
  is_new = !job.writer || job.is_learned;
  std::set<std::uint32_t> registered;
  if (is_new)
    for (const auto& [rank, client] : job.clients) registered.insert(rank);
  auto spec = read_job_info(job.nspace, local_size, infos.data(), infos.size(), registered, host_name_);
  if (!spec) return fail(spec.error());
  if (!is_new) {  // a second registration adds what it says; the map itself is fixed
    for (const auto& key : spec->keys)
      if (auto ok = job.writer->add_info(key); !ok) return ok;
    return {};
  }
  if (job.is_learned) unlearn(job);
  spec->card_key = job.card_key;
  add_server_keys(*spec);
  auto writer = store::JobWriter::create(segment_, *spec, limits_);
  if (!writer) return fail(writer.error());
  job.writer = std::move(*writer);
  constexpr std::size_t most_events = 4096;  // of the server: a fence or a card each
  if (spec->has_trace_logs) job.trace = std::make_shared<const store::OwnTraceLog>(most_events);
  job.info_at_registration = job.view().info().published();
  std::set<NodeNumber> nodes;
  for (const auto& rank : spec->ranks)
    if (rank.node != store::none) nodes.insert(rank.node);
  job.nodes.assign(nodes.begin(), nodes.end());
  base::info(base::LogPart::jobs, "{} is registered: {} ranks on {} nodes, {} of them here", job.nspace,
             spec->ranks.size(), nodes.size(), job.view().header().local_capacity);
  return {};
}

pmix_status_t Jobs::learn(const std::string& nspace, Bytes job_level) {
  if (find(nspace) != nullptr) return PMIX_SUCCESS;  // registered meanwhile
  const auto infos = decode_job_level(job_level);
  auto spec =
      infos ? read_job_info(nspace, 0, infos->data(), infos->size(), {}, host_name_) : fail(infos.error());
  if (!spec) return PMIX_ERR_UNPACK_FAILURE;
  if (learned_.size() == most_learned) erase(std::string(learned_.front()));
  auto writer = store::JobWriter::create(segment_, *spec, limits_);
  if (!writer) return PMIX_ERR_OUT_OF_RESOURCE;
  auto& job = announce(nspace);
  job.writer = std::move(*writer);
  job.is_learned = true;
  learned_.push_back(nspace);
  return PMIX_SUCCESS;
}

/// Takes back a job that was learned from other servers. The name stays, for a host that registers it now.
void Jobs::unlearn(Job& job) {
  std::erase(learned_, job.nspace);
  job.writer->retire(segment_);
  job.writer.reset();
  job.is_learned = false;
}

void Jobs::add_server_keys(store::JobSpec& spec) const {
  if (server_uri_.empty()) return;
  const auto add = [&](std::string_view key, data::Value value) {
    const bool is_said = std::any_of(spec.keys.begin(), spec.keys.end(), [&](const auto& said) {
      return said.owner.realm == store::Realm::job && said.key == key;
    });
    if (!is_said) spec.keys.push_back({{store::Realm::job, 0}, std::string(key), std::move(value)});
  };
  add(PMIX_SERVER_NSPACE, data::Value::of(link::nspace_of(server_)));
  add(PMIX_SERVER_RANK, data::Value::of_rank(server_.rank));
  add(PMIX_SERVER_URI, data::Value::of(std::string_view(server_uri_)));
}

Jobs::Wait Jobs::when_registered(const std::string& nspace, std::function<void()> task) {
  if (find(nspace) != nullptr) return task(), 0;
  waiting_[nspace].emplace(next_wait_, std::move(task));
  return next_wait_++;
}

bool Jobs::forget_wait(const std::string& nspace, Wait wait) {
  const auto waiting = waiting_.find(nspace);
  if (waiting == waiting_.end() || waiting->second.erase(wait) == 0) return false;
  if (waiting->second.empty()) waiting_.erase(waiting);
  return true;
}

void Jobs::announce_registered(std::string_view nspace) {
  const auto waiting = waiting_.find(nspace);
  if (waiting == waiting_.end()) return;
  const auto tasks = std::move(waiting->second);
  waiting_.erase(waiting);
  for (const auto& [number, task] : tasks) task();
}

void Jobs::erase(std::string_view nspace) {
  const auto found = jobs_.find(nspace);
  if (found == jobs_.end()) return;
  std::erase(learned_, nspace);
  if (found->second->writer) found->second->writer->retire(segment_);
  base::info(base::LogPart::jobs, "{} is forgotten", nspace);
  jobs_.erase(found);
}

bool Jobs::may_be_named(const link::RankRuns& named) const {
  std::uint64_t unknown = 0;
  for (const auto& run : named) {
    if (run.last < run.first) return false;
    if (run.first == PMIX_RANK_WILDCARD) continue;
    const auto* job = known(run.nspace);
    if (job != nullptr && run.last >= job->view().ranks()) return false;
    if (job == nullptr) unknown += std::uint64_t{run.last} - run.first + 1;
  }
  return unknown <= most_unknown;
}

Result<Procs> Jobs::procs_of(const link::RankRuns& named) const {
  if (!may_be_named(named)) return fail(Errc::corrupt, "processes that another server names");
  return link::procs_of(named);
}

std::vector<NodeNumber> Jobs::nodes_of(const Procs& procs) const {
  std::set<NodeNumber> nodes;
  for (const auto& proc : procs) {
    const auto* job = known(link::nspace_of(proc));
    if (job == nullptr) return {};
    if (is_whole_job(procs)) return job->nodes;
    if (proc.rank == PMIX_RANK_WILDCARD) {
      nodes.insert(job->nodes.begin(), job->nodes.end());
      continue;
    }
    const auto* entry = job->view().rank(proc.rank);
    if (entry == nullptr || entry->node == store::none) return {};
    nodes.insert(entry->node);
  }
  return {nodes.begin(), nodes.end()};
}

}  // namespace weft::server
