// SPDX-License-Identifier: BSD-3-Clause
// How daemons are started on other nodes. Nothing secret is part of it: it stands on command lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::launch {

/// fork: on this machine (virtual nodes). remote: `words... <host> <command>`, as ssh takes it, or, if a word holds
/// `{command}`, these words with {host}, {node} and {command} filled in. slurm: one srun for all nodes.
struct Agent {
  enum class Kind { fork, remote, slurm };
  Kind kind = Kind::fork;
  std::vector<std::string> words;  ///< of the agent's command; kind fork: none
  std::uint32_t arity = 0;         ///< a server starts so many and leaves the rest to them; 0: it starts all
  std::string weftd;               ///< the daemon's path, on all nodes

  bool operator==(const Agent&) const = default;
};

}  // namespace weft::launch
