// SPDX-License-Identifier: BSD-3-Clause
// This process as the PMIx server of its node's ranks: start, registration, upcalls.
#pragma once

#include <hwloc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/host/job_info.hpp"
#include "tools/host/server_identity.hpp"
#include "tools/job/ending.hpp"
#include "tools/job/events.hpp"

namespace weft::host {

/// The PMIx server of this process. A process has one object at a time, for the library has one server role;
/// the destructor ends that role.
class Server {
 public:
  /// The callbacks run on a thread of the library.
  struct Events {
    std::function<void(job::AbortRequest)> abort;  ///< before the reply to the rank that called
    /// A rank had connected, and the library reports it only now, after mark_ended() for it: PMIx_Init does
    /// not wait for the server, so a process may end before the server has read its hello.
    std::function<void(job::Rank)> connected_late;
  };

  /// topology: this machine's; null: not loaded. Throws Stop (own_failure).
  Server(const ServerIdentity& identity, hwloc_topology_t topology);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Registers the job, and its ranks on this node (local). Once.
  /// Throws Stop (own_failure).
  void register_job(const JobMap& map, const std::vector<job::Rank>& local, Events events);

  /// `inherited` as it is to be for a process of this rank, which may be on another node: with the changes of
  /// the launch information, and with what the process needs to find the server. Each "NAME=VALUE". Throws
  /// Stop (own_failure).
  std::vector<std::string> environment_of(job::Rank rank, const std::vector<std::string>& inherited) const;

  /// The rank's process has ended with status 0.
  void mark_ended(job::Rank rank) noexcept;

  /// Raises the events of a process's end: PMIX_EVENT_PROC_TERMINATED and, of one that has failed, the code
  /// of how. Default handlers hear the latter if the job goes on and the library has not told them that the
  /// connection is lost.
  void announce_end(job::Rank rank, int wait_status) const;

  /// Raises an event of the whole job for the tools of this server: PMIX_EVENT_JOB_START,
  /// PMIX_LAUNCH_COMPLETE, or with an ending PMIX_EVENT_JOB_END. The last is on its way to them before this
  /// object ends. nspace: of the job.
  void announce_job(pmix_status_t code, const std::string& nspace) const;
  void announce_end_of_job(const std::string& nspace, const job::Ending& ending) const;

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

  void register_map(const JobMap& map);
  void register_ranks();
  void watch_losses();
  void define_process_sets(const JobMap& map);
  pmix_proc_t name_of_rank(job::Rank rank) const noexcept;
  Marks* marks_of(const pmix_proc_t& proc) noexcept;

  std::string nspace_;  // of the job
  std::uint32_t size_ = 0;
  bool is_recoverable_ = false;
  std::vector<job::Rank> local_;
  std::unique_ptr<Marks[]> marks_;  // of all ranks; the library's thread sets them, ours sets ended_mark
  std::atomic<std::uint32_t> first_lost_{PMIX_RANK_UNDEF};
  Events events_;
};

}  // namespace weft::host
