// SPDX-License-Identifier: BSD-3-Clause
// Reads the stacks of processes by a program of the machine, a few at a time, within a bounded time. On the
// loop.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/node/places/stack_tool.hpp"
#include "tools/process/spawn.hpp"

namespace weft::node {

/// What is under way holds itself; close() ends it.
class StackReader : public std::enable_shared_from_this<StackReader> {
 public:
  struct Stacks {
    std::vector<std::string> texts;  ///< of each process; empty: none
    std::string remark;              ///< why one has none; empty: all have
  };
  using Done = std::function<void(Stacks)>;
  /// spawner: outlives this object. pids: the most wanted first.
  StackReader(asio::io_context& loop, const process::Spawner& spawner, std::vector<pid_t> pids, Done done);
  ~StackReader();
  StackReader(const StackReader&) = delete;
  StackReader& operator=(const StackReader&) = delete;

  /// done: once, not inside of this call; within `limit` and a moment.
  void begin(std::chrono::milliseconds limit);
  /// Ends what runs; done() does not come any more.
  void close();

 private:
  struct Running;
  using RunningRef = std::shared_ptr<Running>;

  void start_next();
  void start(std::size_t number);
  void read(const RunningRef& running);
  void finish(const RunningRef& running);
  void kill_all();
  void complete();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  const std::vector<pid_t> pids_;
  Done done_;
  std::optional<StackTool> tool_;
  std::string search_;
  asio::steady_timer limit_;
  std::size_t next_ = 0;
  std::vector<RunningRef> running_;
  Stacks stacks_;
  bool is_complete_ = false;
};

}  // namespace weft::node
