// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job on this node are: their server is asked for their calls, the kernel for what they
// wait in, and a program of the machine for their stacks. On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/job/place.hpp"
#include "tools/node/places/stack_reader.hpp"

namespace weft::node {

/// What is under way holds itself; close() ends it.
class PlaceSearch : public std::enable_shared_from_this<PlaceSearch> {
 public:
  struct Process {
    job::Rank rank;
    pid_t pid;  ///< that was started for it; the client may be another, behind a wrapper
  };
  struct Subject {
    std::string nspace;
    std::vector<Process> processes;  ///< that run
    bool wants_stacks = true;
  };
  using Done = std::function<void(job::Places)>;
  /// spawner: outlives this object.
  PlaceSearch(asio::io_context& loop, const process::Spawner& spawner, Subject subject, Done done);

  /// For the server's answer, and for all stacks together.
  static constexpr std::chrono::seconds server_limit{2}, stack_limit{5};
  /// done: once, not inside of this call, within the two times.
  void begin();
  /// done() does not come any more.
  void close();
  bool is_over() const noexcept { return !done_; }  ///< done() has come, or never does

 private:
  void take_calls(const std::vector<job::Place>& calls);
  std::vector<std::size_t> in_order_of_interest() const;
  void take_stacks(const std::vector<std::size_t>& order, StackReader::Stacks stacks);
  void complete();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  const Subject subject_;
  Done done_;
  asio::steady_timer limit_;
  job::Places places_;
  std::shared_ptr<StackReader> stacks_;
  bool has_calls_ = false;
};

}  // namespace weft::node
