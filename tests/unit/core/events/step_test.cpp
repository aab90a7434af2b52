// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/step.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::events {
namespace {

constexpr StepState states[] = {StepState::calling, StepState::answered, StepState::parked, StepState::over};
constexpr StepInput inputs[] = {StepInput::returned, StepInput::completed};

TEST(StepTable, has_one_row_for_each_state_and_input_in_their_order) {
  ASSERT_EQ(std::size(step_table), std::size(states) * std::size(inputs));
  for (const auto state : states) {
    for (const auto input : inputs) {
      EXPECT_EQ(step_row(state, input).state, state);
      EXPECT_EQ(step_row(state, input).input, input);
    }
  }
}

TEST(StepTable, every_order_of_inputs_advances_once_and_keeps_one_answer) {
  // A function returns once; completions may be repeated by a wrong program, up to three here.
  for (int completions = 0; completions <= 3; ++completions) {
    for (int returned_at = 0; returned_at <= completions; ++returned_at) {
      StepState state = StepState::calling;
      int advanced = 0, kept = 0;
      for (int i = 0; i <= completions; ++i) {
        const auto& row = step_row(state, i == returned_at ? StepInput::returned : StepInput::completed);
        advanced += advances(row.action) ? 1 : 0;
        kept += keeps_results(row.action) ? 1 : 0;
        // Nothing is kept after the chain moved on: the next handler reads the results without a lock.
        if (keeps_results(row.action)) {
          EXPECT_LE(advanced, advances(row.action) ? 1 : 0);
        }
        state = row.next;
      }
      EXPECT_EQ(advanced, completions > 0 ? 1 : 0);
      EXPECT_EQ(kept, completions > 0 ? 1 : 0);
      EXPECT_EQ(state, completions > 0 ? StepState::over : StepState::parked);
    }
  }
}

}  // namespace
}  // namespace weft::events
