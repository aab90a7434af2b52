// SPDX-License-Identifier: BSD-3-Clause
// The state of one call of a handler. A call ends twice: the function returns, and the completion function is
// called. The two may happen in any order and on any two threads; the second of them continues the chain. A
// handler that completes inside its own call therefore leaves the next call to the loop in Chain::drive(),
// and a chain of any length needs no stack.
#pragma once

#include <cstdint>

namespace weft::events {

enum class StepState : std::uint8_t {
  calling,   ///< inside the function, not completed
  answered,  ///< inside the function, completed
  parked,    ///< returned, not completed
  over,      ///< returned and completed; the chain has continued
};
enum class StepInput : std::uint8_t { returned, completed };
enum class StepAction : std::uint8_t {
  none,
  keep_results,              ///< store the status and the results of the handler
  advance,                   ///< call the next handler, on this thread
  keep_results_and_advance,  ///< both
  ignore,                    ///< a second completion: an error of the handler, without effect
};

struct StepRow {
  StepState state;
  StepInput input;
  StepState next;
  StepAction action;
};

inline constexpr StepRow step_table[] = {
    {StepState::calling, StepInput::returned, StepState::parked, StepAction::none},
    {StepState::calling, StepInput::completed, StepState::answered, StepAction::keep_results},
    {StepState::answered, StepInput::returned, StepState::over, StepAction::advance},
    {StepState::answered, StepInput::completed, StepState::answered, StepAction::ignore},
    {StepState::parked, StepInput::returned, StepState::parked, StepAction::ignore},
    {StepState::parked, StepInput::completed, StepState::over, StepAction::keep_results_and_advance},
    {StepState::over, StepInput::returned, StepState::over, StepAction::ignore},
    {StepState::over, StepInput::completed, StepState::over, StepAction::ignore},
};

constexpr const StepRow& step_row(StepState state, StepInput input) noexcept {
  return step_table[static_cast<unsigned>(state) * 2 + static_cast<unsigned>(input)];
}

constexpr bool advances(StepAction action) noexcept {
  return action == StepAction::advance || action == StepAction::keep_results_and_advance;
}
constexpr bool keeps_results(StepAction action) noexcept {
  return action == StepAction::keep_results || action == StepAction::keep_results_and_advance;
}

}  // namespace weft::events
