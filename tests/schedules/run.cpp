// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

using simulation::Client;
using simulation::World;
using std::chrono::nanoseconds;

/// An operation that waits for so long waits for what cannot come: a lost node is known for lost long before.
constexpr std::chrono::seconds longest{60};
/// Rounds without an end of virtual time between them: a cluster that turns in a circle.
constexpr std::uint64_t most_steps = 2'000'000;

constexpr const char* key = "card";
std::vector<std::byte> card_of(Rank rank) {
  return std::vector<std::byte>(50 + rank, static_cast<std::byte>(rank));
}

struct Ended {
  pmix_status_t status;
  link::RankRuns members;
  std::uint64_t context;
  bool operator==(const Ended&) const = default;
};

std::string to_text(const Ended& ended) {
  std::string members;
  for (const auto& run : ended.members) members += fmt::format(" {}-{}", run.first, run.last);
  return fmt::format("{}{}{}", ended.status, members.empty() ? "" : " members" + members,
                     ended.context == 0 ? "" : fmt::format(" context {:x}", ended.context));
}

class Run {
 public:
  explicit Run(const Schedule& schedule) : schedule_(schedule), world_(schedule.shape) {
    processes_.resize(world_.ranks());
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i)
      for (std::size_t m = 0; m < schedule_.operations[i].members.size(); ++m)
        processes_[schedule_.operations[i].members[m]].todo.push_back({i, schedule_.operations[i].pauses[m]});
    for (auto& process : processes_)
      if (!process.todo.empty()) process.next_at = process.todo.front().pause;
    for (Rank rank = 0; rank < world_.ranks(); ++rank) {
      world_.client(rank).commit(key, card_of(rank));
      world_.wake(world_.node_of(rank));
    }
    ended_.resize(schedule_.operations.size(), std::vector<std::optional<Ended>>(world_.ranks()));
  }

  Outcome to_its_end() {
    for (std::uint64_t steps = 0; !is_over(); ++steps) {
      begin_what_is_due();
      const auto until = next_time();
      if (!world_.step(until) && until == longest) {
        tell_who_waits();
        break;
      }
      take_ended();
      if (steps == most_steps) {
        outcome_.violations.push_back("the cluster turns in a circle");
        break;
      }
    }
    if (outcome_.violations.empty()) check_agreement();
    outcome_.took = world_.now();
    return std::move(outcome_);
  }

 private:
  struct Todo {
    std::size_t operation;
    microseconds pause;
  };
  struct Process {
    std::vector<Todo> todo;
    std::size_t next = 0;
    nanoseconds next_at{};
    std::optional<Client::Call> waits{};
    std::set<std::string> groups{};  ///< that it is a member of
    bool has_finalized = false;
  };

  bool is_gone(Rank rank) { return world_.client(rank).is_gone(); }
  bool is_over() {
    for (Rank rank = 0; rank < processes_.size(); ++rank)
      if (!is_gone(rank) && !has_ended(processes_[rank])) return false;
    return true;
  }
  bool has_ended(const Process& process) const {
    return process.next == process.todo.size() && (!schedule_.finalizes || process.has_finalized);
  }
  bool may_begin(const Process& process) const {
    return !process.waits && !has_ended(process) && process.next_at <= world_.now();
  }

  nanoseconds next_time() {
    nanoseconds out = longest;
    if (next_fault_ < schedule_.faults.size())
      out = std::min<nanoseconds>(out, schedule_.faults[next_fault_].at);
    for (Rank rank = 0; rank < processes_.size(); ++rank) {
      const auto& process = processes_[rank];
      if (!is_gone(rank) && !process.waits && !has_ended(process)) out = std::min(out, process.next_at);
    }
    return out;
  }

  void begin_what_is_due() {
    while (next_fault_ < schedule_.faults.size() && schedule_.faults[next_fault_].at <= world_.now())
      happen(schedule_.faults[next_fault_++]);
    for (Rank rank = 0; rank < processes_.size(); ++rank) {
      auto& process = processes_[rank];
      while (!is_gone(rank) && may_begin(process)) begin(rank, process);
    }
  }

  void happen(const Fault& fault) {
    fault.kind == Fault::Kind::node_lost ? world_.lose(fault.which) : world_.end_process(fault.which);
  }

  void begin(Rank rank, Process& process) {
    auto& client = world_.client(rank);
    world_.wake(world_.node_of(rank));
    if (process.next == process.todo.size()) {
      process.waits = client.finalize();
      return;
    }
    const auto& operation = schedule_.operations[process.todo[process.next].operation];
    using Kind = Operation::Kind;
    const bool needs_group = operation.kind == Kind::fence_group || operation.kind == Kind::destruct;
    if (needs_group && process.groups.count(operation.group) == 0) return go_on(process);
    server::Procs procs;
    for (const auto member : operation.members) procs.push_back(link::make_proc(World::nspace, member));
    switch (operation.kind) {
      case Kind::fence_job:
        process.waits = client.fence_job(operation.collects);
        break;
      case Kind::fence_set:
        process.waits = client.fence(procs, operation.collects);
        break;
      case Kind::construct: {
        data::Infos directives;
        directives.add(PMIX_GROUP_ASSIGN_CONTEXT_ID, data::Value::of(true));
        if (operation.adjusts && rank % 2 == 0)
          directives.add(PMIX_GROUP_FT_COLLECTIVE, data::Value::of(true));
        process.waits = client.construct(operation.group, procs, std::move(directives));
        break;
      }
      case Kind::fence_group:
        process.waits = client.fence_group(operation.group);
        break;
      case Kind::destruct:
        process.waits = client.destruct(operation.group);
        process.groups.erase(operation.group);
        break;
      case Kind::get:
        process.waits = client.get(link::make_proc(World::nspace, operation.target), key);
        break;
    }
  }

  void go_on(Process& process) {
    process.waits.reset();
    if (++process.next < process.todo.size())
      process.next_at = world_.now() + process.todo[process.next].pause;
  }

  void take_ended() {
    for (Rank rank = 0; rank < processes_.size(); ++rank)
      for (auto& end : world_.client(rank).take_ended()) {
        auto& process = processes_[rank];
        if (process.waits != end.call) {
          outcome_.violations.push_back(fmt::format("rank {} heard twice of one call", rank));
          continue;
        }
        if (process.next == process.todo.size()) {
          process.waits.reset();
          process.has_finalized = true;
          continue;
        }
        const auto number = process.todo[process.next].operation;
        const auto& operation = schedule_.operations[number];
        const bool is_made = end.status == PMIX_SUCCESS || end.status == PMIX_ERR_PARTIAL_SUCCESS;
        if (operation.kind == Operation::Kind::construct && is_made) process.groups.insert(operation.group);
        note(rank, number, end.status);
        const bool has_found = operation.kind == Operation::Kind::get && end.status == PMIX_SUCCESS;
        if (has_found && end.value != card_of(operation.target))
          outcome_.violations.push_back(
              fmt::format("rank {} has found another card than that of rank {}", rank, operation.target));
        ended_[number][rank] = Ended{end.status, std::move(end.members), end.context};
        go_on(process);
      }
  }

  void note(Rank rank, std::size_t operation, pmix_status_t status) {
    for (const auto each : {std::uint64_t{rank}, std::uint64_t{operation}, static_cast<std::uint64_t>(status),
                            static_cast<std::uint64_t>(world_.now().count())})
      outcome_.digest = (outcome_.digest ^ each) * 0x100000001b3u;
  }

  void tell_who_waits() {
    for (Rank rank = 0; rank < processes_.size(); ++rank) {
      const auto& process = processes_[rank];
      if (is_gone(rank) || has_ended(process)) continue;
      const bool is_last = process.next == process.todo.size();
      outcome_.violations.push_back(is_last ? fmt::format("rank {} waits in its finalize, for ever", rank)
                                            : fmt::format("rank {} waits in operation {}, for ever", rank,
                                                          process.todo[process.next].operation));
    }
  }

  /// Of each operation: those that are there at the end have heard the same.
  void check_agreement() {
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      std::optional<Rank> first;
      for (Rank rank = 0; rank < processes_.size(); ++rank) {
        if (is_gone(rank) || !ended_[i][rank]) continue;
        if (!first) first = rank;
        const auto &here = *ended_[i][rank], &there = *ended_[i][*first];
        if (here == there) continue;
        outcome_.violations.push_back(
            fmt::format("operation {} has ended with {} at rank {}, and with {} at rank {}", i,
                        to_text(there), *first, to_text(here), rank));
        break;
      }
      const bool may_fail = !schedule_.faults.empty();
      if (first && !may_fail && ended_[i][*first]->status != PMIX_SUCCESS)
        outcome_.violations.push_back(fmt::format("operation {} has ended with {}, and nothing was lost", i,
                                                  to_text(*ended_[i][*first])));
    }
  }

  const Schedule& schedule_;
  World world_;
  std::vector<Process> processes_;
  std::size_t next_fault_ = 0;
  std::vector<std::vector<std::optional<Ended>>> ended_;  ///< by operation and rank
  Outcome outcome_;
};

}  // namespace

Outcome run(const Schedule& schedule) {
  return Run(schedule).to_its_end();
}

/// One part less at a time, as long as something goes wrong.
Schedule shrink(Schedule schedule) {
  const auto violates = [](const Schedule& each) { return !run(each).violations.empty(); };
  const auto without = [&](auto Schedule::*parts) {
    bool has_shrunk = false;
    for (std::size_t i = (schedule.*parts).size(); i-- > 0;) {
      auto less = schedule;
      (less.*parts).erase((less.*parts).begin() + static_cast<std::ptrdiff_t>(i));
      if (!violates(less)) continue;
      schedule = std::move(less);
      has_shrunk = true;
    }
    return has_shrunk;
  };
  while (without(&Schedule::operations) | without(&Schedule::faults)) {
  }
  for (auto& operation : schedule.operations)
    for (auto& pause : operation.pauses) {
      const auto before = std::exchange(pause, microseconds(0));
      if (!violates(schedule)) pause = before;
    }
  return schedule;
}

std::string to_text(const Schedule& schedule) {
  auto out = fmt::format("{} nodes of {} ranks, seed {}, jitter {} ns{}\n", schedule.shape.nodes,
                         schedule.shape.ranks_a_node, schedule.shape.seed, schedule.shape.network.jitter,
                         schedule.finalizes ? "; each rank finalizes" : "");
  static constexpr const char* kinds[] = {"fence of the job", "fence of ranks", "construct",
                                          "fence of group",   "destruct",       "get"};
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const auto& operation = schedule.operations[i];
    out += fmt::format("  {}: {}{}{}{}{}:", i, kinds[static_cast<int>(operation.kind)],
                       operation.group.empty() ? "" : " ", operation.group,
                       operation.collects ? ", collects" : "", operation.adjusts ? ", adjusts" : "");
    if (operation.kind == Operation::Kind::get) out += fmt::format(" rank {} by", operation.target);
    for (std::size_t m = 0; m < operation.members.size(); ++m)
      out += fmt::format(" {}+{}", operation.members[m], operation.pauses[m].count());
    out += " us\n";
  }
  for (const auto& fault : schedule.faults)
    out += fmt::format("  at {} us: {} {}\n", fault.at.count(),
                       fault.kind == Fault::Kind::node_lost ? "loss of node" : "end of rank", fault.which);
  return out;
}

}  // namespace weft::schedules
