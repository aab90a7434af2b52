// SPDX-License-Identifier: BSD-3-Clause
// Why a tool ends before or instead of its job: one line for the user, and an exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace weft::messages {

/// Exit statuses that are weftrun's own; docs/man/weftrun.1 lists them. All others come from a rank.
namespace exit_status {
constexpr int usage = 2;  ///< the command line is wrong
/// The exit status of a daemon whose node and the launcher do not reach each other by the transport that the
/// launcher has chosen.
constexpr int no_transport = 123;
constexpr int timed_out = 124;       ///< --timeout ended the job
constexpr int own_failure = 125;     ///< weftrun could not do its part
constexpr int not_executable = 126;  ///< a program is there but cannot be run
constexpr int not_found = 127;       ///< a program is not there
constexpr int signal_base = 128;     ///< + the number of the signal that ended a rank or weftrun
}  // namespace exit_status

/// Thrown while a job is set up, caught in main(); destructors undo the set-up on the way.
class Stop : public std::runtime_error {
 public:
  Stop(int exit_code, const std::string& line) : std::runtime_error(line), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace weft::messages
