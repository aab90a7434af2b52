// SPDX-License-Identifier: BSD-3-Clause
// weftrun as the PMIx server of its ranks: start, registration, and what the library tells back.
#pragma once

#include <hwloc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/weftrun/environment.hpp"
#include "tools/weftrun/job_info.hpp"

namespace weft::weftrun {

/// A rank called PMIx_Abort.
struct AbortRequest {
  Rank from{0};
  int status = 0;
  std::string message;
  std::vector<Rank> named;  ///< whom to end, ascending; empty: the whole job
};

/// One at a time in a process, as the library has it. The destructor ends the library's server role.
class Server {
 public:
  /// Runs on a thread of the library, before the rank that asked is answered.
  using OnAbort = std::function<void(AbortRequest)>;

  /// Registers the job and all its ranks. topology: null unless ranks are bound. Throws Stop (own_failure).
  Server(const JobMap& map, hwloc_topology_t topology, OnAbort on_abort);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// What this rank needs in its environment to find the server. Throws Stop (own_failure).
  Variables environment_of(Rank rank) const;

  /// Any thread. A rank that has finalized was connected too.
  bool has_connected(Rank rank) const noexcept;
  bool has_finalized(Rank rank) const noexcept;
  std::uint32_t count_connected() const noexcept;

 private:
  friend struct Upcalls;
  enum class Stage : std::uint8_t { unseen, connected, finalized };

  void start(hwloc_topology_t topology);
  void register_job(const JobMap& map, hwloc_topology_t topology);
  void register_ranks();
  pmix_proc_t name_of_rank(Rank rank) const noexcept;
  std::atomic<Stage>* stage_of(const pmix_proc_t& proc) noexcept;

  std::string nspace_;
  std::uint32_t size_;
  std::unique_ptr<std::atomic<Stage>[]> stages_;  // written by the library's thread, read when a rank exits
  OnAbort on_abort_;
  bool started_ = false;
};

}  // namespace weft::weftrun
