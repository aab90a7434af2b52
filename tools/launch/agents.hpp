// SPDX-License-Identifier: BSD-3-Clause
// Starts the daemons of a launch and hears when that fails: one agent (ssh, srun, weftd itself) a daemon, or one for
// all. An agent gets its start message on standard input, which stays open as long as the daemons are wanted; the
// lines on its standard output and error are told on.
//
// Threads: all of it, the callbacks too, is on the thread that runs the loop; none is called inside start() or end().
// Agents end with this process, also when it is killed, and with ~Agents(). SIGPIPE must be ignored.
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
    std::vector<NodeName> nodes;  ///< that this agent was to bring in: the first is where it was to reach
    std::string line;  ///< for the user: which node, which command, how it ended, what it said, what to do
    std::string how;   ///< of that only "agent ... exited with status 3 and said nothing"; empty: did not run
  };
  struct Events {
    /// An agent could not be started, or ended before end() or expect_end() was called. Once an agent.
    std::function<void(const Failure&)> agent_failed;
    /// A line that an agent or its daemon has written, without its newline; at most 4 KiB of it.
    std::function<void(const NodeName&, const std::string&)> said;
    /// After end(): none is left.
    std::function<void()> all_ended;
  };
  /// spawner: outlives this object. own_node: for the words of failures; empty in weftrun, where "here" says enough.
  Agents(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node = {});
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Starts what `message.agent` says for `message.nodes`, none of which is this process's own: all of them, or with an
  /// arity the first of each part of the tree. The rest of `message` is what they are told; release: our own.
  void start(const StartMessage& message, std::string_view release);

  /// The ends that come from now on are as they should be.
  void expect_end();
  /// expect_end(), and the daemons are told by the end of their input; what is there after `patience` gets SIGTERM, and
  /// as much later SIGKILL.
  void end(std::chrono::milliseconds patience);

  /// For whoever collects all children of this process (waitpid(-1)): true if `pid` was an agent. Agents that nobody
  /// collects are collected here.
  bool collected(pid_t pid, int wait_status);

  std::size_t living() const noexcept;

 private:
  class Crew;
  std::shared_ptr<Crew> crew_;  // what still waits in the loop may outlive this object
};

}  // namespace weft::launch
