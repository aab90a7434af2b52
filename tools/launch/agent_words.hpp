// SPDX-License-Identifier: BSD-3-Clause
// The pure part of starting daemons: the tree of agents, their commands, and the lines about their failures.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launch/start_message.hpp"

namespace weft::launch {

/// The part of `message` for each of its agents: with arity k at most k parts, consecutive, of sizes that
/// differ by one node at most.
std::vector<StartMessage> parts_of(const StartMessage& message);

/// The command that starts the daemon of the first of `message.nodes` (kind slurm: the daemons of all).
std::vector<std::string> agent_command(const StartMessage& message);

/// A command line with '..', ".." and \ as in a shell, in words. Nothing: a quote does not end.
std::optional<std::vector<std::string>> split_words(std::string_view text);

/// `word` as one word of a POSIX shell; plain words are unchanged, for agents without a shell at their end.
std::string quoted(const std::string& word);

/// True for a line that says nothing to a user: srun without an affinity plugin warns that it cannot bind
/// when binding is off.
bool is_noise(const Agent& agent, std::string_view line) noexcept;

// Failures, one line each. from: the node of the daemon that started the agent; empty: weftrun did.
std::string agent_missing(const StartMessage& message, const std::vector<std::string>& words,
                          std::string_view from);
std::string agent_not_started(const StartMessage& message, const std::vector<std::string>& words,
                              std::string_view step, int error);
/// How an agent ended: "agent 'ssh a weftd' exited with status 3 and said nothing". Arguments as below.
std::string agent_end(const std::vector<std::string>& words, std::optional<int> wait_status,
                      std::string_view last_line);
/// wait_status: nothing if it is not known. last_line: the last line that it wrote; may be empty.
std::string agent_ended(const StartMessage& message, const std::vector<std::string>& words,
                        std::optional<int> wait_status, std::string_view last_line, std::string_view from);

}  // namespace weft::launch
