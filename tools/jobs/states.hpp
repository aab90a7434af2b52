// SPDX-License-Identifier: BSD-3-Clause
// The life of a job as a table: state x event -> next state, action, and whether this event can be the reason
// for the job's end. The first such event decides the exit status, and the user reads about it.
#pragma once

#include <array>
#include <cstdint>

namespace weft::jobs {

enum class State : std::uint8_t {
  starting,  ///< ranks are being started
  running,   ///< all have been started
  stopping,  ///< asked to end (SIGTERM), a time of grace runs
  killing,   ///< ended by force (SIGKILL), a last time of grace runs
  draining,  ///< no rank lives; their output is being written out
  done,
};

enum class Event : std::uint8_t {
  started,       ///< all ranks have been started
  start_failed,  ///< a rank could not be started
  rank_failed,   ///< a rank was killed by a signal, exited with a status, or exited without PMIx_Finalize
  abort_called,  ///< a rank called PMIx_Abort for the whole job
  time_up,       ///< --timeout
  end_signal,    ///< weftrun got SIGINT, SIGTERM or SIGHUP
  node_lost,     ///< a node is lost, with its ranks
  output_lost,   ///< weftrun cannot write the output of the ranks
  grace_over,    ///< the time of grace has passed
  all_gone,      ///< the last rank has been reaped
  output_done,   ///< everything is written
};

enum class Action : std::uint8_t {
  nothing,
  stop_ranks,        ///< SIGTERM to all, start the time of grace
  kill_ranks,        ///< SIGKILL to all, start the last time of grace
  abandon,           ///< say which ranks do not end, leave the loop
  drain,             ///< end what ranks left behind, write out the rest
  finish,            ///< leave the loop
  finish_undrained,  ///< drop what is not written, leave the loop
};

struct Step {
  State next;
  Action action;
  bool is_reason;
};

constexpr std::size_t state_count = 6;
constexpr std::size_t event_count = 11;
using JobTable = std::array<std::array<Step, event_count>, state_count>;

extern const JobTable job_table;

inline const Step& step(State state, Event event) noexcept {
  return job_table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

const char* name_of(State state) noexcept;
const char* name_of(Event event) noexcept;

}  // namespace weft::jobs
