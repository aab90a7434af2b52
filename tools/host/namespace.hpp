// SPDX-License-Identifier: BSD-3-Clause
// A job at this process's PMIx server, from its registration to its end there: what the library is told of
// its processes, and what it tells.
#pragma once

#include <pmix_common.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/host/job_info.hpp"
#include "tools/job/control.hpp"
#include "tools/job/events.hpp"

namespace weft::host {

class Server;

/// Tells the library more of the nodes of a job that is registered, before its processes are started. Throws
/// Stop (own_failure).
void add_node_keys(const JobMap& map, const std::vector<job::NodeKey>& keys);

class Namespace {
 public:
  /// The callbacks run on a thread of the library, and end before the destructor does. None may end this.
  struct Events {
    std::function<void(job::AbortRequest)> abort;  ///< before the reply to the rank that called
    /// A rank had connected, and the library reports it only now, after mark_ended() for it: PMIx_Init does
    /// not wait for the server, so a process may end before the server has read its hello.
    std::function<void(job::Rank)> connected_late;
    /// A rank has stopped for a debugger, where it says; a debugger lets these go on (none: all).
    std::function<void(job::Rank, std::string breakpoint)> held;
    std::function<void(std::vector<job::Rank>)> released;
  };

  /// Registers the job, and its ranks on this node (local). Throws Stop (own_failure).
  Namespace(Server& server, const JobMap& map, std::vector<job::Rank> local, Events events);
  /// Waits until the library has forgotten it, unless the server has ended before.
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::uint32_t size() const noexcept { return size_; }
  /// The rank runs on this node.
  bool serves(job::Rank rank) const noexcept {
    return std::binary_search(local_.begin(), local_.end(), rank);
  }

  /// `inherited` as it is to be for a process of this rank, which may be on another node: with the changes of
  /// the launch information, and with what the process needs to find the server. Each "NAME=VALUE". Throws
  /// Stop (own_failure).
  std::vector<std::string> environment_of(job::Rank rank, const std::vector<std::string>& inherited) const;

  /// For tables of processes: the process has been started, and may not connect for a long time.
  void tell_pid(job::Rank rank, int pid) const;

  /// The rank's process has ended with status 0.
  void mark_ended(job::Rank rank) noexcept;

  /// Raises the events of a process's end: PMIX_EVENT_PROC_TERMINATED and, of one that has failed, the code
  /// of how. Default handlers hear the latter if the job goes on and the library has not told them that the
  /// connection is lost.
  void announce_end(job::Rank rank, int wait_status) const;

  /// The rank has ended before PMIx_Init: calls of other ranks do not wait for it.
  void deregister(job::Rank rank) noexcept;

  /// Waits until the library has read what ended ranks may have left in its sockets. false: there is no such
  /// rank, and done is not called. done: on any thread, once, after every connected_late of these ranks.
  bool await_late_connections(std::function<void()> done);

  /// Any thread. A rank that has finalized was connected too.
  bool has_connected(job::Rank rank) const noexcept;
  bool has_finalized(job::Rank rank) const noexcept;
  /// The first rank, on any node, of which the library says that its connection was lost. Calls of other
  /// ranks that fail for that fail later: what is seen of their processes by then has this behind it.
  /// Nothing: no rank.
  std::optional<job::Rank> first_lost() const noexcept;
  std::uint32_t count_connected() const noexcept;

 private:
  friend class Server;
  friend struct Upcalls;
  /// known_mark: has_connected() after mark_ended() or connected_late has said that it had connected.
  enum Mark : std::uint8_t {
    connected_mark = 1,
    finalized_mark = 2,
    ended_mark = 4,
    known_mark = 8,
    abort_mark = 16
  };
  using Marks = std::atomic<std::uint8_t>;

  // From the server's upcalls, on a thread of the library.
  void take_abort(job::Rank from, int status, const char* message, std::vector<job::Rank> named);
  void take_loss(job::Rank rank) noexcept;
  void take_held(job::Rank rank, std::string breakpoint);
  void take_release(const std::vector<job::ControlRequest::Target>& targets);
  void advance(job::Rank rank, Mark mark);
  void server_ended() noexcept { server_ = nullptr; }

  void leave() noexcept;
  void register_map(const JobMap& map);
  void register_ranks();
  void define_process_sets(const JobMap& map);
  pmix_proc_t name_of_rank(job::Rank rank) const noexcept;

  Server* server_;  ///< null: it has ended
  const std::string name_;
  const bool is_recoverable_, stops_;  ///< for a debugger, some rank
  const std::uint32_t size_;
  const std::vector<job::Rank> local_;
  const std::unique_ptr<Marks[]>
      marks_;  ///< of all ranks; the library's thread sets them, ours sets ended_mark
  std::atomic<std::uint32_t> first_lost_{PMIX_RANK_UNDEF};
  const Events events_;
};

}  // namespace weft::host
