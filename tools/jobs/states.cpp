// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs/states.hpp"

namespace weft::jobs {
namespace {

using S = State;
using A = Action;

constexpr Step stay(State state) {
  return {state, A::nothing, false};
}

// The steps that end a job are the same while its ranks start and while they run.
constexpr Step stop{S::stopping, A::stop_ranks, true};
constexpr Step kill{S::killing, A::kill_ranks, false};
constexpr Step abandon{S::done, A::abandon, false};
constexpr Step drain{S::draining, A::drain, false};
constexpr Step give_up{S::done, A::finish_undrained, true};

}  // namespace

// clang-format off
constinit const JobTable job_table{{
    // started, start_failed,
    // rank_failed, abort_called, time_up, end_signal, node_lost, output_lost,
    // grace_over, all_gone, output_done

    // starting
    {{ {S::running, A::nothing, false}, {S::killing, A::kill_ranks, true},
       stop, stop, stop, stop, stop, stop,
       stay(S::starting), drain, stay(S::starting) }},
    // running
    {{ stay(S::running), stay(S::running),
       stop, stop, stop, stop, stop, stop,
       stay(S::running), drain, stay(S::running) }},
    // stopping: ranks that fail now were told to end; a second signal ends the time of grace
    {{ stay(S::stopping), kill,
       stay(S::stopping), stay(S::stopping), stay(S::stopping), kill, stay(S::stopping), stay(S::stopping),
       kill, drain, stay(S::stopping) }},
    // killing: what the kernel cannot end (a disk that does not answer) is waited for a while, or until the
    // next signal
    {{ stay(S::killing), stay(S::killing),
       stay(S::killing), stay(S::killing), stay(S::killing), abandon, stay(S::killing), stay(S::killing),
       abandon, drain, stay(S::killing) }},
    // draining: lasts as long as the reader of weftrun's output does not read; a signal or the time limit
    // ends it
    {{ stay(S::draining), stay(S::draining),
       stay(S::draining), stay(S::draining), give_up, give_up, {S::draining, A::nothing, true},
       {S::draining, A::nothing, true},
       {S::done, A::finish_undrained, false}, stay(S::draining), {S::done, A::finish, false} }},
    // done
    {{ stay(S::done), stay(S::done),
       stay(S::done), stay(S::done), stay(S::done), stay(S::done), stay(S::done), stay(S::done),
       stay(S::done), stay(S::done), stay(S::done) }},
}};
// clang-format on

const char* name_of(State state) noexcept {
  constexpr std::array<const char*, state_count> names = {"starting", "running",  "stopping",
                                                          "killing",  "draining", "done"};
  return names[static_cast<std::size_t>(state)];
}

const char* name_of(Event event) noexcept {
  constexpr std::array<const char*, event_count> names = {
      "started",   "start_failed", "rank_failed", "abort_called", "time_up",    "end_signal",
      "node_lost", "output_lost",  "grace_over",  "all_gone",     "output_done"};
  return names[static_cast<std::size_t>(event)];
}

}  // namespace weft::jobs
