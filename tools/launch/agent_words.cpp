// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agent_words.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/allocation/hostlist.hpp"

namespace weft::launch {
namespace {

using Words = std::vector<std::string>;

/// Longer commands are cut: a line that fills a screen is not read.
constexpr std::size_t longest_command = 400;

void replace_all(std::string& text, std::string_view mark, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
    text.replace(at, mark.size(), value);
}

bool is_template(const Words& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const auto& word) { return word.find("{command}") != std::string::npos; });
}

Words remote_command(const Agent& agent, const NodeName& node) {
  Words words = agent.words;
  const std::string command = quoted(agent.weftd);
  if (!is_template(words)) {
    words.push_back(node.host);
    words.push_back(command);
    return words;
  }
  for (auto& word : words) {
    replace_all(word, "{host}", node.host);
    replace_all(word, "{node}", std::to_string(node.number));
    replace_all(word, "{command}", command);
  }
  return words;
}

/// The step shares the nodes' processors with other steps (--overlap) and binds nothing: the daemons do that.
/// A daemon that ends does not end the others, and the step does not wait for the others when a daemon has
/// ended.
Words slurm_command(const Agent& agent, const std::vector<NodeName>& nodes) {
  Words names;
  for (const auto& node : nodes) names.push_back(node.host);
  Words words = agent.words;
  for (const auto& word :
       {fmt::format("--nodes={}", nodes.size()), fmt::format("--ntasks={}", nodes.size()),
        std::string("--ntasks-per-node=1"), "--nodelist=" + allocation::compress_hostlist(names),
        std::string("--overlap"), std::string("--cpu-bind=none"), std::string("--mpi=none"),
        std::string("--input=all"), std::string("--kill-on-bad-exit=0"), std::string("--wait=0"),
        agent.weftd}) {
    words.push_back(word);
  }
  return words;
}

std::string shown(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  if (text.size() > longest_command) text = text.substr(0, longest_command) + "...";
  return text;
}

/// "node 'a'", "the 3 nodes 'a' to 'c'".
std::string all_of(const std::vector<NodeName>& nodes) {
  if (nodes.size() == 1) return fmt::format("node '{}'", nodes.front().host);
  return fmt::format("the {} nodes '{}' to '{}'", nodes.size(), nodes.front().host, nodes.back().host);
}

/// The nodes of one agent: "node 'a' and 3 that it was to start".
std::string which(const StartMessage& message) {
  const auto& nodes = message.nodes;
  if (nodes.size() == 1 || message.agent.kind == Agent::Kind::slurm) return all_of(nodes);
  return fmt::format("node '{}' and {} that it was to start", nodes.front().host, nodes.size() - 1);
}

std::string how(std::optional<int> status) {
  if (!status) return "ended";
  if (WIFSIGNALED(*status)) return fmt::format("was killed by signal {}", WTERMSIG(*status));
  return fmt::format("exited with status {}", WEXITSTATUS(*status));
}

/// The dynamic linker exits with the status of a missing program.
bool lacks_library(std::string_view last_line) noexcept {
  return last_line.find("error while loading shared libraries") != std::string_view::npos;
}

std::string advice(const StartMessage& message, const Words& words, std::optional<int> status,
                   std::string_view last_line, std::string_view from) {
  const Agent& agent = message.agent;
  const bool no_program =
      status && WIFEXITED(*status) && (WEXITSTATUS(*status) == 127 || WEXITSTATUS(*status) == 126);
  switch (agent.kind) {
    case Agent::Kind::fork:
      return fmt::format("run '{} --version' to see if the daemon works; --weftd PATH names another",
                         quoted(agent.weftd));
    case Agent::Kind::slurm:
      return fmt::format(
          "see that '{}' is on all of these nodes (--weftd PATH), and with scontrol show job that the "
          "allocation still "
          "has them",
          agent.weftd);
    case Agent::Kind::remote:
      break;
  }
  if (no_program && lacks_library(last_line)) {
    return "install that library on that node too, or set LD_LIBRARY_PATH where the shell there reads it for "
           "a command as well (with bash ~/.bashrc, before it asks whether it is interactive)";
  }
  if (no_program) {
    return fmt::format("install Weft as '{}' on that node too, or say with --weftd where it is on all nodes",
                       agent.weftd);
  }
  Words trial = words;
  if (!is_template(agent.words)) trial.back() = "true";
  if (!from.empty()) {
    return fmt::format(
        "see that '{}' works from node '{}' without a question, or let weftrun reach all nodes by "
        "itself (--agent-arity 0)",
        shown(trial), from);
  }
  return fmt::format("see that '{}' works from here without a question, or correct the host list",
                     shown(trial));
}

}  // namespace

std::vector<StartMessage> parts_of(const StartMessage& message) {
  const std::size_t count = message.nodes.size();
  std::vector<StartMessage> parts;
  if (message.agent.kind == Agent::Kind::slurm) {
    parts.push_back(message);
    parts.back().audience = StartMessage::Audience::all;
    return parts;
  }
  const bool is_tree = message.agent.kind == Agent::Kind::remote && message.agent.arity != 0;
  const std::size_t most = is_tree ? std::min<std::size_t>(message.agent.arity, count) : count;
  StartMessage without_nodes = message;
  without_nodes.nodes.clear();
  without_nodes.audience = StartMessage::Audience::one;
  for (std::size_t i = 0; i < most; ++i) {
    parts.push_back(without_nodes);
    const auto first = message.nodes.begin();
    parts.back().nodes.assign(first + static_cast<std::ptrdiff_t>(count * i / most),
                              first + static_cast<std::ptrdiff_t>(count * (i + 1) / most));
  }
  return parts;
}

Words agent_command(const StartMessage& message) {
  switch (message.agent.kind) {
    case Agent::Kind::slurm:
      return slurm_command(message.agent, message.nodes);
    case Agent::Kind::remote:
      return remote_command(message.agent, message.nodes.front());
    case Agent::Kind::fork:
      break;
  }
  return {message.agent.weftd};
}

std::optional<Words> split_words(std::string_view text) {
  Words words;
  bool inside = false;  // of a word
  char quote = 0;
  const auto add = [&](char c) {
    if (!std::exchange(inside, true)) words.emplace_back();
    words.back() += c;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      if (++i == text.size()) return std::nullopt;
      add(text[i]);
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        add(c);
    } else if (c == '\'' || c == '"') {
      quote = c;
      if (!std::exchange(inside, true)) words.emplace_back();
    } else if (c == ' ' || c == '\t' || c == '\n') {
      inside = false;
    } else {
      add(c);
    }
  }
  return quote == 0 ? std::optional(words) : std::nullopt;
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || (c != 0 && std::strchr("_-+=./:,@%{}", c) != nullptr) || c >= 0x80;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = word;
  replace_all(text, "'", "'\\''");
  return "'" + text + "'";
}

bool is_noise(const Agent& agent, std::string_view line) noexcept {
  return agent.kind == Agent::Kind::slurm &&
         line.find("cluster configuration lacks support for cpu binding") != std::string_view::npos;
}

std::string agent_missing(const StartMessage& message, const Words& words, std::string_view from) {
  const bool is_daemon = message.agent.kind == Agent::Kind::fork;
  return fmt::format("{}: {} '{}' is not {} or cannot be executed, so no daemon was started. What to do: {}",
                     all_of(message.nodes), is_daemon ? "the daemon" : "the agent", words.front(),
                     from.empty() ? "there" : fmt::format("on node '{}'", from),
                     is_daemon ? "install it beside weftrun, or say with --weftd where it is"
                               : "install it, or name another one with --agent");
}

std::string agent_not_started(const StartMessage& message, const Words& words, std::string_view step,
                              int error) {
  return fmt::format(
      "{}: agent '{}' cannot be started: {}: {}. What to do: {}", which(message), shown(words), step,
      std::strerror(error),
      error == EMFILE || error == ENFILE ? "raise ulimit -n" : "look at ulimit -u and at free memory");
}

std::string agent_end(const Words& words, std::optional<int> status, std::string_view last_line) {
  const auto said = last_line.empty() ? std::string(" and said nothing")
                                      : fmt::format("; the last it said was: {}", last_line);
  return fmt::format("agent '{}' {}{}", shown(words), how(status), said);
}

std::string agent_ended(const StartMessage& message, const Words& words, std::optional<int> status,
                        std::string_view last_line, std::string_view from) {
  const std::string line = fmt::format("{}: {}", which(message), agent_end(words, status, last_line));
  // A daemon that started and could not go on has written what to do.
  if (last_line.substr(0, 6) == "weftd:") return line;
  return fmt::format("{}. What to do: {}", line, advice(message, words, status, last_line, from));
}

}  // namespace weft::launch
