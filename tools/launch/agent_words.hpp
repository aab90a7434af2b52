// SPDX-License-Identifier: BSD-3-Clause
// The pure part of starting daemons: who starts whom, the words of the commands, the words for the user.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/start_message.hpp"

namespace weft::launch {

/// What `message` becomes for each of its agents: with arity k at most k parts, consecutive and of equal size but for
/// one node.
std::vector<StartMessage> parts_of(const StartMessage& message);

/// The words that start the daemon of the first of `message.nodes` (kind slurm: of all of them).
std::vector<std::string> agent_command(const StartMessage& message);

/// A command line as a shell's user writes it, with '..', ".." and \; nothing: a quote does not end.
std::optional<std::vector<std::string>> split_words(std::string_view text);

/// As one word of a POSIX shell; plain words stay as they are, for agents with no shell behind them.
std::string quoted(const std::string& word);

/// Not worth a user's attention: srun without an affinity plugin warns that it cannot bind when it is told not to bind.
bool means_nothing(const Agent& agent, std::string_view line) noexcept;

// Failures, one line each. from: the node of a daemon on which the agent was to run; empty: where the user is.
std::string agent_missing(const StartMessage& message, const std::vector<std::string>& words,
                          std::string_view from);
std::string agent_not_started(const StartMessage& message, const std::vector<std::string>& words,
                              std::string_view step, int error);
/// Of an agent's end only how: "agent 'ssh a weftd' exited with status 3 and said nothing". Arguments as below.
std::string agent_end(const std::vector<std::string>& words, std::optional<int> wait_status,
                      std::string_view last_line);
/// wait_status: nothing if it is not known. last_line: of what it said; may be empty.
std::string agent_ended(const StartMessage& message, const std::vector<std::string>& words,
                        std::optional<int> wait_status, std::string_view last_line, std::string_view from);

}  // namespace weft::launch
