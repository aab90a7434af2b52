// SPDX-License-Identifier: BSD-3-Clause
// Starts the daemons of a launch and reports failures: one agent (ssh, srun, weftd itself) a daemon, or one
// for all. An agent gets its start message on standard input, which stays open as long as the daemons are
// wanted; the lines on its standard output and error are passed on.
//
// Threads: everything, the callbacks too, runs on the thread that runs the loop; no callback runs inside
// start() or end(). Agents end with this process, also when it is killed, and with ~Agents(). SIGPIPE must be
// ignored.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/launch/agent.hpp"
#include "tools/launch/start_message.hpp"
#include "tools/process/spawn.hpp"

namespace weft::launch {

class Agents {
 public:
  struct Failure {
    std::vector<NodeName> nodes;  ///< that this agent was to bring in; the first is its target
    std::string line;             ///< for the user: node, command, how it ended, its last line, what to do
    std::string how;    ///< the part "agent ... exited with status 3 and said nothing"; empty: it did not run
    int exit_code = 0;  ///< the status in that part
  };
  struct Events {
    /// An agent could not be started, or ended before end() or expect_end() was called. Once an agent.
    std::function<void(const Failure&)> agent_failed;
    /// A line that an agent or its daemon has written, without its newline; cut at 4 KiB.
    std::function<void(const NodeName&, const std::string&)> line_written;
    /// After end(): no agent runs any more.
    std::function<void()> all_ended;
  };
  /// spawner: outlives this object. own_node: this node, for the lines about failures; empty in weftrun.
  Agents(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node = {});
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Runs `message.agent` for `message.nodes`, which this process's own node is not among: for each, or with
  /// an arity for the first of each part of the tree. Each agent gets its part of `message`. release: our
  /// own, "0.1.0".
  void start(const StartMessage& message, std::string_view release);

  /// An agent that ends from now on has not failed.
  void expect_end();
  /// expect_end(), and ends the daemons by the end of their input; what still runs after `patience` gets
  /// SIGTERM, and as much later SIGKILL.
  void end(std::chrono::milliseconds patience);

  /// If another part of this process reaps all children (waitpid(-1)), it hands each on here. True: `pid` was
  /// an agent. Agents that are not handed on are reaped by this object.
  bool on_child_exit(pid_t pid, int wait_status);

  std::size_t running() const noexcept;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;  // handlers queued in the loop may outlive this object
};

}  // namespace weft::launch
