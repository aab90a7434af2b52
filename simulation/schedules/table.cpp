// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/table.hpp"

#include <algorithm>

namespace weft::simulation {

using collectives::Index;
using collectives::number;

Result<StepTable> StepTable::of(std::uint32_t members, const std::vector<Phase>& phases) {
  constexpr const char* too_large = "more steps of all members together than fit";
  StepTable out;
  out.members_ = members;
  std::vector<std::uint64_t> steps(members);
  std::uint64_t all = 0;
  for (const auto& phase : phases) {
    auto& section = out.sections_.emplace_back();
    section.is_rotation = phase.is_rotation;
    section.message_bytes = phase.message_bytes;
    section.block_bytes = phase.block_bytes;
    const Member kept = phase.is_rotation ? 1 : members;
    for (Member member = 0; member < kept; ++member) {
      section.first_row.push_back(out.rows_.size());
      const auto schedule = phase.schedule(Index(member));
      const auto times = phase.is_rotation ? members : 1;
      all += std::uint64_t{schedule.size()} * times;
      if (all > most_steps || out.sends_.size() > most_steps) return fail(Errc::no_space, too_large);
      for (const auto& step : schedule) {
        out.rows_.push_back(
            {static_cast<std::uint32_t>(out.sections_.size() - 1), out.sends_.size(), out.receives_.size()});
        out.sends_.insert(out.sends_.end(), step.sends.begin(), step.sends.end());
        out.receives_.insert(out.receives_.end(), step.receives.begin(), step.receives.end());
      }
      steps[member] += schedule.size();
    }
    if (phase.is_rotation)
      for (Member member = 1; member < members; ++member)
        steps[member] += out.rows_.size() - section.first_row[0];
    section.first_row.push_back(out.rows_.size());
  }
  out.rows_.push_back({0, out.sends_.size(), out.receives_.size()});
  out.steps_each_ = members == 0 ? 0 : static_cast<StepNumber>(steps[0]);
  if (std::adjacent_find(steps.begin(), steps.end(), std::not_equal_to<>()) != steps.end()) {
    out.steps_before_.push_back(0);
    for (const auto each : steps) out.steps_before_.push_back(out.steps_before_.back() + each);
  }
  return out;
}

StepNumber StepTable::steps(Member member) const noexcept {
  return steps_before_.empty() ? steps_each_
                               : static_cast<StepNumber>(steps_before_[member + 1] - steps_before_[member]);
}

std::uint64_t StepTable::steps_before(Member member) const noexcept {
  return steps_before_.empty() ? std::uint64_t{member} * steps_each_ : steps_before_[member];
}

/// Makes `step` the number of the row.
const StepTable::Section& StepTable::section_of(Member member, StepNumber& step) const noexcept {
  for (const auto& section : sections_) {
    const Member kept = section.is_rotation ? 0 : member;
    const auto first = section.first_row[kept], count = section.first_row[kept + 1] - first;
    if (step < count) {
      step += static_cast<StepNumber>(first);
      return section;
    }
    step -= static_cast<StepNumber>(count);
  }
  return sections_.back();
}

const StepTable::Row& StepTable::row_of(Member member, StepNumber step) const noexcept {
  section_of(member, step);
  return rows_[step];
}

std::uint32_t StepTable::sends(Member member, StepNumber step) const noexcept {
  const Row& row = row_of(member, step);
  return static_cast<std::uint32_t>((&row)[1].first_send - row.first_send);
}

std::uint32_t StepTable::receives(Member member, StepNumber step) const noexcept {
  const Row& row = row_of(member, step);
  return static_cast<std::uint32_t>((&row)[1].first_receive - row.first_receive);
}

StepTable::Transfer StepTable::transfer(Member member, StepNumber step,
                                        const std::vector<collectives::PeerBlocks>& of,
                                        std::uint64_t at) const noexcept {
  const Section& section = section_of(member, step);
  const auto& kept = of[at];
  const auto turn = [&](Index index) {
    const std::uint64_t moved = std::uint64_t{number(index)} + (section.is_rotation ? member : 0);
    return static_cast<std::uint32_t>(moved % members_);
  };
  Transfer out{turn(kept.peer), kept.blocks, section.message_bytes + section.block_bytes * kept.blocks.count};
  if (kept.blocks.count != 0) out.blocks.first = Index(turn(kept.blocks.first));
  return out;
}

StepTable::Transfer StepTable::send(Member member, StepNumber step, std::uint32_t which) const noexcept {
  return transfer(member, step, sends_, row_of(member, step).first_send + which);
}

StepTable::Transfer StepTable::receive(Member member, StepNumber step, std::uint32_t which) const noexcept {
  return transfer(member, step, receives_, row_of(member, step).first_receive + which);
}

}  // namespace weft::simulation
