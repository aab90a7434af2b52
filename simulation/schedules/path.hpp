// SPDX-License-Identifier: BSD-3-Clause
// What each step of each member has waited for last, and from that the path to the end of a collective.
#pragma once

#include <vector>

#include "simulation/schedules/run.hpp"

namespace weft::simulation {

class Releases {
 public:
  explicit Releases(const StepTable& table)
      : table_(table), all_(table.steps_before(table.members() - 1) + table.steps(table.members() - 1)) {}

  /// The step is done at that time, by a message that `from` sent in `from_step`; by what had come before
  /// where `from` is the member itself.
  void add(Member member, StepNumber step, sim::Time at, Member from, StepNumber from_step) {
    all_[table_.steps_before(member) + step] = {at, from, from_step};
  }
  /// begins: when a member began.
  void path_to(Member member, const std::vector<sim::Time>& begins, CollectiveRun& out) const;

 private:
  struct Release {
    sim::Time at = 0;
    Member from = 0;
    StepNumber from_step = 0;
  };
  const Release& of(Member member, StepNumber step) const { return all_[table_.steps_before(member) + step]; }
  std::uint64_t bytes_of(Member from, StepNumber step, Member to) const;

  const StepTable& table_;
  std::vector<Release> all_;
};

}  // namespace weft::simulation
