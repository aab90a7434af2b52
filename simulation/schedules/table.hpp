// SPDX-License-Identifier: BSD-3-Clause
// The steps of all members of a collective, phase after phase, in little memory: of schedules that are
// rotations of each other only that of member 0 is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulation/schedules/phase.hpp"
#include "weft/result.hpp"

namespace weft::simulation {

using Member = std::uint32_t;
using StepNumber = std::uint32_t;  ///< of a member, through all phases

class StepTable {
 public:
  /// Bounds memory to some 5 GiB, and time to minutes: a ring of all nodes is beyond them from 17,320 on.
  static constexpr std::uint64_t most_steps = 300'000'000;

  /// Errors: no_space (more steps of all members together than most_steps).
  static Result<StepTable> of(std::uint32_t members, const std::vector<Phase>& phases);

  std::uint32_t members() const noexcept { return members_; }
  StepNumber steps(Member member) const noexcept;
  /// Of all members with a lower number.
  std::uint64_t steps_before(Member member) const noexcept;

  struct Transfer {
    Member peer;
    collectives::Blocks blocks;
    std::uint64_t bytes;  ///< of the message, without its envelope
    bool operator==(const Transfer&) const = default;
  };
  std::uint32_t sends(Member member, StepNumber step) const noexcept;
  std::uint32_t receives(Member member, StepNumber step) const noexcept;
  Transfer send(Member member, StepNumber step, std::uint32_t which) const noexcept;
  Transfer receive(Member member, StepNumber step, std::uint32_t which) const noexcept;
  /// Both steps are of the same phase.
  bool share_phase(Member one, StepNumber its_step, Member other, StepNumber others_step) const noexcept {
    return row_of(one, its_step).phase == row_of(other, others_step).phase;
  }

 private:
  struct Row {
    std::uint32_t phase;
    std::uint64_t first_send, first_receive;
  };
  struct Section {  ///< a phase
    bool is_rotation = false;
    std::uint64_t message_bytes = 0, block_bytes = 0;
    std::vector<std::uint64_t> first_row;  ///< of each member, and the end; of a rotation: of member 0
  };
  StepTable() = default;
  const Section& section_of(Member member, StepNumber& step) const noexcept;
  const Row& row_of(Member member, StepNumber step) const noexcept;
  Transfer transfer(Member member, StepNumber step, const std::vector<collectives::PeerBlocks>& of,
                    std::uint64_t at) const noexcept;

  std::uint32_t members_ = 0;
  std::vector<Section> sections_;
  std::vector<Row> rows_;  ///< one more than there are
  std::vector<collectives::PeerBlocks> sends_, receives_;
  std::vector<std::uint64_t> steps_before_;  ///< empty: all members have steps_each_
  StepNumber steps_each_ = 0;
};

}  // namespace weft::simulation
