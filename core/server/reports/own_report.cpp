// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/own_report.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

/// 0: there is no such process (any more).
std::uint64_t resident_kib(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  std::uint64_t all = 0, resident = 0;
  if (!(statm >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

/// Of the job as a whole.
Result<data::Value> of_whole_job(const store::JobView& view, const char* key) {
  return store::lookup(view, PMIX_RANK_WILDCARD, key, {}, {true, PMIX_RANK_UNDEF});
}
std::uint32_t number_of(const store::JobView& view, const char* key) {
  const auto found = of_whole_job(view, key);
  return found && found->get().type == PMIX_UINT32 ? found->get().data.uint32 : 0;
}

}  // namespace

NodeReport OwnReport::make(const ReportRequest& request) const {
  NodeReport out;
  if (request.everything == 0) {
    for (const auto& name : request.fences)
      if (auto part = name.operation.is_fence() ? fences_.part_in(name) : groups_.part_in(name))
        out.fences.push_back(std::move(*part));
    return out;
  }
  out.host = host_name_;
  out.pid = ::getpid();
  if (cluster_.is_open()) out.transport = cluster_.fabric().description();
  const auto age = std::chrono::steady_clock::now() - started_;
  out.age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  jobs_.each([&](const Job& job) { out.jobs.push_back(of(job)); });
  out.fences = fences_.open_parts();
  std::ranges::move(groups_.open_parts(), std::back_inserter(out.fences));
  group_table_.settle();
  group_table_.each([&](const std::string& name, const Group& group) {
    out.groups.push_back({name, group.members});
  });
  sets_.each([&](const std::string& name, const link::RankRuns& members) {
    out.sets.push_back({name, members});
  });
  add_names(out);
  out.regions = regions();
  out.memory = memory();
  const auto counts = counts_of(
      {&fences_, &exchange_, cards_.modex(), cluster_.is_open() ? &cluster_ : nullptr, &published_});
  for (std::size_t i = 0; i < counts.size(); ++i) out.counters[i] = counts[i].value;
  return out;
}

JobReport OwnReport::of(const Job& job) const {
  const auto& view = job.view();
  JobReport out{job.nspace, view.ranks(), view.nodes(), {}, view.board().open_generation() - 1};
  for (std::uint32_t i = 0; i < view.local_count(); ++i)
    ++out.states[view.local(i).state.load(std::memory_order_relaxed) % out.states.size()];
  const auto parent = of_whole_job(view, PMIX_PARENT_ID);
  if (parent && parent->get().type == PMIX_PROC && parent->get().data.proc != nullptr) {
    out.parent_nspace = link::nspace_of(*parent->get().data.proc);
    out.parent_rank = parent->get().data.proc->rank;
  }
  out.attacher_pid = number_of(view, "weft.attacher.pid");
  out.attacher_user = number_of(view, "weft.attacher.user");
  const auto detached = of_whole_job(view, "weft.detached");
  out.is_detached = detached && detached->get().type == PMIX_BOOL && detached->get().data.flag;
  return out;
}

/// As a lookup of the server's user would find them; observers are that user, or root. Keys without values.
void OwnReport::add_names(NodeReport& out) const {
  published_.kept().each([&](const Name& name) {
    const auto& by = *name.by;
    if (!has_access(by, ::getuid(), ::getgid())) return;
    out.names.push_back({name.key, by.nspace, by.rank, by.range, by.persistence, name.value.size()});
  });
  out.all_names = out.names.size();
  std::sort(out.names.begin(), out.names.end(),
            [](const NameEntry& a, const NameEntry& b) { return a.key < b.key; });
  if (out.names.size() > NodeReport::most_names) out.names.resize(NodeReport::most_names);
}

std::vector<RegionEntry> OwnReport::regions() const {
  RegionEntry ranks{"ranks"}, info{"job data"}, remote{"cards of other nodes"}, own{"cards"},
      boards{"boards"}, control{"control"};
  jobs_.each([&](const Job& job) {
    const auto& view = job.view();
    const auto& header = view.header();
    const auto fixed = header.rank_area.bytes + header.index_area.bytes + header.local_area.bytes;
    ranks.used += fixed;
    ranks.size += fixed;
    info.used += view.info().published();
    info.size += header.info_capacity;
    remote.used += view.cards().remote().header().used.load(std::memory_order_relaxed);
    remote.size += header.remote_capacity;
    for (std::uint32_t i = 0; i < view.local_count() && view.cards().has_local(); ++i)
      own.used += view.cards().local(i).published();
    own.size += header.card_capacity * header.local_capacity;
    boards.size += header.board_area.bytes;
    control.used += header.control_area.bytes;
    control.size += header.control_area.bytes;
  });
  boards.used = std::min(boards.size, fences_.counters().boards * store::pool_board_bytes);
  return {ranks, info, remote, own, boards, control};
}

MemoryReport OwnReport::memory() const {
  MemoryReport out;
  out.server = resident_kib(::getpid());
  jobs_.each([&](const Job& job) {
    for (std::uint32_t i = 0; i < job.view().local_count(); ++i) {
      const auto pid = job.view().local(i).pid.load(std::memory_order_relaxed);
      const auto resident = pid != 0 ? resident_kib(pid) : 0;
      out.clients += resident;
      out.count += resident > 0 ? 1 : 0;
    }
  });
  return out;
}

std::string OwnReport::namespaces() const {
  std::string out;
  jobs_.each([&](const Job& job) { out += (out.empty() ? "" : ",") + job.nspace; });
  return out;
}

}  // namespace weft::server
