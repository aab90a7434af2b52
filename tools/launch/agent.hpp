// SPDX-License-Identifier: BSD-3-Clause
// How daemons are started on other nodes. An agent's words appear on command lines, so they hold nothing
// secret.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::launch {

/// fork: a child process on this machine (virtual nodes). remote: `words... <host> <command>` as ssh takes
/// it, or, if a word holds `{command}`, the words with {host}, {node} and {command} filled in. slurm: one
/// srun for all nodes.
struct Agent {
  enum class Kind { fork, remote, slurm };
  Kind kind = Kind::fork;
  std::vector<std::string> words;  ///< of the agent's command; empty for kind fork
  /// Daemons that each server starts itself, the rest being left to these; 0: the launcher starts all.
  std::uint32_t arity = 0;
  std::string weftd;  ///< the daemon's path, on all nodes

  bool operator==(const Agent&) const = default;
};

}  // namespace weft::launch
