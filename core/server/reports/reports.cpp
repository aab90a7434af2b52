// SPDX-License-Identifier: BSD-3-Clause
// What this server tells about itself: its part of a session's report. Nothing is kept for it; who asks pays.
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/server/server.hpp"

namespace weft::server {
namespace {

std::uint64_t ms_since(std::chrono::steady_clock::time_point when) {
  const auto age = std::chrono::steady_clock::now() - when;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
}

bool everybody(const Job&, std::uint32_t) {
  return true;
}
bool nobody(const Job&, std::uint32_t) {
  return false;
}

}  // namespace

NodeReport Server::own_report(const ReportRequest& request) {
  NodeReport out;
  if (request.everything == 0) {
    for (const auto& name : request.fences)
      if (auto part = part_in(name)) out.fences.push_back(std::move(*part));
    return out;
  }
  out.host = host_;
  out.pid = ::getpid();
  if (nodes_) out.transport = nodes_->transport();
  out.age_ms = ms_since(started_);
  for (const auto& [name, job] : jobs_)
    if (job->writer) out.jobs.push_back(report_of(*job));
  out.fences = open_parts();
  out.counters = counters();
  return out;
}

JobReport Server::report_of(const Job& job) const {
  const auto& view = job.view();
  JobReport out{job.nspace, view.ranks(), view.nodes(), {}, job.board().open_generation() - 1};
  for (std::uint32_t i = 0; i < view.local_count(); ++i)
    ++out.states[view.local(i).state.load(std::memory_order_relaxed) % out.states.size()];
  return out;
}

/// In the order of counter_names.
std::vector<std::uint64_t> Server::counters() const {
  if (!nodes_) return std::vector<std::uint64_t>(counter_names.size());
  const auto& modex = modex_->counters();
  const auto& engine = nodes_->engine().counters();
  const auto& mesh = nodes_->mesh().counters();
  const auto& letters = nodes_->letters().counters();
  const auto refused = std::accumulate(mesh.refused.begin(), mesh.refused.end(), std::uint64_t{0});
  return {modex.fetches,
          modex.reads,
          modex.bytes_read,
          modex.questions,
          engine.begun,
          engine.ended_well,
          engine.failed,
          engine.early,
          packer_.counters().plain,
          packer_.counters().packed,
          mesh.messages_sent,
          mesh.bytes_sent,
          mesh.messages_received,
          mesh.bytes_received,
          mesh.gets,
          mesh.bytes_got,
          mesh.stalls,
          refused,
          mesh.nodes_lost,
          letters.sent,
          letters.received};
}

/// Fences that somebody here is in. Between nodes the generation is that of their collective, so that all name it alike.
std::vector<FencePart> Server::open_parts() {
  std::vector<FencePart> out;
  for (const auto& [name, job] : jobs_) {
    if (!job->writer) continue;
    const auto& board = job->board();
    const auto whole = whole_job(name);
    const auto open = board.open_generation();
    const bool is_shared = job->view().nodes() > 1 && exchanges_itself();
    if (job->board_exchanging) {
      out.push_back(part_of(whole, job->board_exchange ? job->board_exchange->second : open, everybody));
      if (job->board_exchange) add_exchange(out.back(), *job->board_exchange);
    } else if (board.arrived_count() != 0) {
      const auto generation = is_shared ? node_fences_->attempts(whole) + 1 : open;
      out.push_back(part_of(whole, generation,
                            [&](const Job& of, std::uint32_t i) { return of.board().arrived(i, open); }));
      out.back().age_ms = static_cast<std::uint64_t>(board_clocks_[name].age(open).count());
    }
  }
  std::map<std::vector<RankRun>, std::uint64_t> gathering;  // ahead of the next one of the set
  for (const auto& fence : fences_) {
    if (fence->state == FenceState::ended) continue;
    const bool is_shared = fence->remote && exchanges_itself();
    auto generation = fence->exchange ? fence->exchange->second : fence->number;
    if (is_shared && !fence->exchange)
      generation = node_fences_->attempts(fence->signature) + ++gathering[runs_of(fence->signature)];
    out.push_back(part_of(fence->signature, generation, [&](const Job& job, std::uint32_t i) {
      const auto rank = job.view().local(i).rank.load(std::memory_order_relaxed);
      return fence->has_entered(link::make_proc(job.nspace, rank));
    }));
    out.back().age_ms = ms_since(fence->since);
    out.back().collects = fence->collect;
    if (fence->exchange) add_exchange(out.back(), *fence->exchange);
  }
  return out;
}

/// Our part of a fence that another node has told of and nobody here is in, or not any more. Nothing: a job that is not
/// registered here yet.
std::optional<FencePart> Server::part_in(const FenceName& name) {
  const auto procs = known_procs(name);
  if (!procs || !node_fences_) return std::nullopt;
  const auto attempts = node_fences_->attempts(*procs);
  if (name.generation <= attempts) {
    auto part = part_of(*procs, name.generation, everybody);
    add_exchange(part, {signature_of(*procs), name.generation});
    return part;
  }
  auto ahead = name.generation - attempts - 1;
  if (is_whole_job(*procs)) {
    const auto* job = find_job(link::nspace_of((*procs)[0]));
    if (job == nullptr || !job->writer || ahead != 0 || job->board_exchanging)
      return part_of(*procs, name.generation, nobody);
    return part_of(*procs, name.generation, [&](const Job& of, std::uint32_t i) {
      return of.board().arrived(i, of.board().open_generation());
    });
  }
  for (const auto& fence : fences_) {
    if (fence->state != FenceState::gathering || runs_of(fence->signature) != name.procs || ahead-- != 0)
      continue;
    return part_of(*procs, name.generation, [&](const Job& job, std::uint32_t i) {
      const auto rank = job.view().local(i).rank.load(std::memory_order_relaxed);
      return fence->has_entered(link::make_proc(job.nspace, rank));
    });
  }
  return part_of(*procs, name.generation, nobody);
}

FencePart Server::part_of(const Procs& procs, std::uint64_t generation, const HasArrived& has_arrived) const {
  FencePart part;
  part.name = {runs_of(procs), generation};
  for (const auto& proc : procs) {
    const auto found = jobs_.find(link::nspace_of(proc));
    if (found == jobs_.end() || !found->second->writer) continue;
    const auto& job = *found->second;
    const auto& view = job.view();
    const bool is_all = proc.rank == PMIX_RANK_WILDCARD;
    const auto only = is_all ? store::none : view.local_index(proc.rank);
    if (!is_all && only == store::none) continue;
    for (auto i = is_all ? 0 : only, end = is_all ? view.local_count() : only + 1; i < end; ++i) {
      ++part.ranks;
      if (has_arrived(job, i)) {
        ++part.arrived;
        continue;
      }
      const auto& local = view.local(i);
      part.missing.push_back({job.nspace, local.rank.load(std::memory_order_relaxed),
                              local.pid.load(std::memory_order_relaxed),
                              static_cast<std::uint8_t>(local.state.load(std::memory_order_acquire))});
    }
  }
  std::sort(part.missing.begin(), part.missing.end(), [](const AbsentRank& a, const AbsentRank& b) {
    return std::tie(a.nspace, a.rank) < std::tie(b.nspace, b.rank);
  });
  part.state = part.missing.empty() ? FencePart::State::entered
               : part.arrived == 0  ? FencePart::State::absent
                                    : FencePart::State::waiting;
  return part;
}

/// What the collective between the nodes says of it, while it is under way.
void Server::add_exchange(FencePart& part, const NodeFences::Key& key) const {
  if (const auto since = node_fences_->since(key)) part.age_ms = std::max(part.age_ms, ms_since(*since));
  for (auto& open : nodes_->engine().open()) {
    if (open.signature != key.first || open.generation != key.second) continue;
    part.collects = open.kind == collectives::Kind::exchange;
    part.algorithm = std::move(open.algorithm);
    part.waits_for = std::move(open.waits_for);
  }
}

/// Errors: not_found (ranks of no job that is registered here).
Result<Procs> Server::known_procs(const FenceName& name) {
  for (const auto& run : name.procs) {
    const auto* job = find_job(run.nspace);
    const bool is_known =
        job != nullptr && job->writer && (run.first == PMIX_RANK_WILDCARD || run.last < job->view().ranks());
    if (!is_known) return fail(Errc::not_found);
  }
  return procs_of(name.procs);
}

/// Where the host exchanges, each node tells its own side only.
std::vector<NodeNumber> Server::members_of(const FenceName& name) {
  const auto procs = known_procs(name);
  return procs && exchanges_itself() ? nodes_of(*procs) : std::vector<NodeNumber>();
}

Survey::Hooks Server::survey_hooks() {
  return {[this](const ReportRequest& request) { return own_report(request); },
          [this](const FenceName& name) { return members_of(name); }};
}

}  // namespace weft::server
