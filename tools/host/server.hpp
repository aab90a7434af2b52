// SPDX-License-Identifier: BSD-3-Clause
// This process as the PMIx server of its node's ranks: start, registration, and what the library tells back.
#pragma once

#include <hwloc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/host/job_info.hpp"
#include "tools/host/server_identity.hpp"

namespace weft::host {

/// A rank called PMIx_Abort.
struct AbortRequest {
  job::Rank from{0};
  int status = 0;
  std::string message;
  std::vector<job::Rank> named;  ///< whom to end, ascending; empty: the whole job
};

/// One at a time in a process, as the library has it. The destructor ends the library's server role.
class Server {
 public:
  /// These run on a thread of the library.
  struct Events {
    std::function<void(AbortRequest)> abort;  ///< before the rank that asked is answered
    /// The library tells of a rank only now that it connected, after ended() for it: PMIx_Init does not wait
    /// for the server, so a process may be gone before the server has looked.
    std::function<void(job::Rank)> connected_late;
  };

  /// topology: this machine's, if it is loaded already. Throws Stop (own_failure).
  Server(const ServerIdentity& identity, hwloc_topology_t topology);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The job, and those of its ranks that are of this node. topology: null unless ranks are bound. Once. Throws Stop
  /// (own_failure).
  void register_job(const JobMap& map, const std::vector<job::Rank>& local, hwloc_topology_t topology,
                    Events events);

  /// What this rank needs in its environment to find the server, each "NAME=VALUE". Throws Stop (own_failure).
  std::vector<std::string> environment_of(job::Rank rank) const;

  /// The rank's process is gone.
  void ended(job::Rank rank) noexcept;

  /// It has failed before PMIx_Init: nobody is to wait for it in a fence.
  void forget(job::Rank rank) noexcept;

  /// Makes the library look at what ended ranks may have left in its sockets; false: there is none to look
  /// at. then: runs on any thread, once, after every connected_late of such ranks.
  bool settle(std::function<void()> then);

  /// Any thread. A rank that has finalized was connected too.
  bool has_connected(job::Rank rank) const noexcept;
  bool has_finalized(job::Rank rank) const noexcept;
  std::uint32_t count_connected() const noexcept;

 private:
  friend struct Upcalls;
  enum Mark : std::uint8_t { connected_mark = 1, finalized_mark = 2, ended_mark = 4 };
  using Marks = std::atomic<std::uint8_t>;

  void register_map(const JobMap& map, hwloc_topology_t topology);
  void register_ranks();
  pmix_proc_t name_of_rank(job::Rank rank) const noexcept;
  Marks* marks_of(const pmix_proc_t& proc) noexcept;

  std::string nspace_;  // of the job
  std::uint32_t size_ = 0;
  std::vector<job::Rank> local_;
  std::unique_ptr<Marks[]> marks_;  // of all ranks; from the library's thread and, ended_mark, from our own
  Events events_;
};

}  // namespace weft::host
