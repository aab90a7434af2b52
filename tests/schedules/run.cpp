// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tests/schedules/processes.hpp"

namespace weft::schedules {
namespace {

using simulation::World;
using std::chrono::nanoseconds;

/// Where nothing has come for so long, what is waited for cannot come: a lost node is known for lost long
/// before.
constexpr std::chrono::seconds patience{60};
/// Behind the last end of a call: what is on its way has come by then.
constexpr std::chrono::seconds rest{10};
/// Rounds without an end of virtual time between them: a cluster that turns in a circle.
constexpr std::uint64_t most_steps = 500'000;

class Run {
 public:
  explicit Run(const Schedule& schedule)
      : schedule_(schedule), world_(schedule.shape), processes_(schedule, world_) {}

  Outcome to_its_end() {
    while (!processes_.are_done() && step(patience)) {
    }
    const bool is_done = processes_.are_done();
    if (!is_done && steps_ < most_steps) {
      for (auto& each : processes_.who_waits()) violates(std::move(each));
      for (const auto& each : open_at(world_)) violates("  " + each);
    }
    outcome_.took = world_.now();
    if (is_done) {
      last_word_ = world_.now();
      while (step(rest)) {
      }
    }
    finish();
    return std::move(outcome_);
  }

 private:
  void violates(std::string what) { processes_.record().violations.push_back(std::move(what)); }

  /// False: nothing has come to a process for so long, or the cluster turns in a circle.
  bool step(std::chrono::seconds limit) {
    if (++steps_ == most_steps) violates("the cluster turns in a circle");
    if (steps_ >= most_steps) return false;
    while (next_fault_ < schedule_.faults.size() && schedule_.faults[next_fault_].at <= world_.now())
      happen(schedule_.faults[next_fault_++]);
    processes_.begin_what_is_due();
    const auto end = last_word_ + limit;
    const auto due = std::min(processes_.next_time(), next_fault_time());
    const bool has_moved = world_.step(std::min<nanoseconds>(end, due));
    if (processes_.take_words() || due <= world_.now()) last_word_ = world_.now();
    return has_moved || world_.now() < end;
  }

  nanoseconds next_fault_time() const {
    return next_fault_ < schedule_.faults.size() ? nanoseconds(schedule_.faults[next_fault_].at)
                                                 : nanoseconds::max();
  }

  void happen(const Fault& fault) {
    switch (fault.kind) {
      case Fault::Kind::process_ends:
        if (!world_.is_gone(fault.which)) processes_.record().killed[fault.which] = world_.now();
        world_.end_process(fault.which);
        break;
      case Fault::Kind::node_lost:
        world_.lose(fault.which);
        break;
      case Fault::Kind::node_leaves:
        world_.leave(fault.which);
        break;
      case Fault::Kind::node_pauses:
        world_.pause(fault.which, fault.pause);
        break;
    }
    processes_.look_again();
  }

  void finish() {
    auto& record = processes_.record();
    std::vector<bool> nodes;
    for (simulation::NodeNumber node = 0; node < world_.nodes(); ++node) nodes.push_back(is_left(node));
    for (Rank rank = 0; rank < world_.ranks(); ++rank) {
      record.has_server.push_back(nodes[world_.node_of(rank)]);
      record.is_left.push_back(nodes[world_.node_of(rank)] && !world_.is_gone(rank));
    }
    for (simulation::JobNumber job = 0; job < world_.places().jobs(); ++job)
      record.end_of_job.push_back(world_.end_of(job));
    if (record.violations.empty()) check(schedule_, record);
    if (record.violations.empty()) check_output(schedule_, record);
    std::size_t names = 0;
    for (simulation::NodeNumber node = 0; node < world_.nodes(); ++node)
      if (nodes[node]) names += world_.node(node)->rooms().published.names();
    if (record.violations.empty()) check_names(schedule_, names, record);
    if (record.violations.empty())
      for (auto& each : kept_at(world_, nodes, may_miss())) violates(std::move(each));
    outcome_.violations = std::move(record.violations);
    outcome_.digest = processes_.digest();
  }

  bool may_miss() const {
    return !schedule_.faults.empty() ||
           std::any_of(schedule_.operations.begin(), schedule_.operations.end(),
                       // A server may take part in the end of a group for members that have ended.
                       [](const Operation& each) { return each.kind == Kind::leave || each.asks; });
  }

  /// No other node that is there has taken it for lost.
  bool is_left(simulation::NodeNumber number) {
    if (world_.node(number) == nullptr) return false;
    for (simulation::NodeNumber other = 0; other < world_.nodes(); ++other)
      if (other != number && world_.node(other) != nullptr &&
          world_.node(other)->cluster().servers().is_lost(number))
        return false;
    return true;
  }

  const Schedule& schedule_;
  World world_;
  Processes processes_;
  std::size_t next_fault_ = 0;
  std::uint64_t steps_ = 0;
  nanoseconds last_word_{};
  Outcome outcome_;
};

}  // namespace

Outcome run(const Schedule& schedule) {
  return Run(schedule).to_its_end();
}

}  // namespace weft::schedules
