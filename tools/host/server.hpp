// SPDX-License-Identifier: BSD-3-Clause
// This process as the PMIx server of its node's ranks: the role and its upcalls. The jobs are Namespaces.
#pragma once

#include <pmix_common.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tools/host/server_identity.hpp"
#include "tools/job/control.hpp"
#include "tools/job/ending.hpp"
#include "tools/job/spawn.hpp"
#include "tools/job/standard_io.hpp"

namespace weft::host {

class Namespace;

/// The PMIx server of this process. A process has one object at a time, for the library has one server role;
/// the destructor ends that role, and what the library has of each namespace.
class Server {
 public:
  /// On a thread of the library, which does not wait.
  struct Events {
    /// A process asks for a job; reply: once, from any thread, before the server's end.
    using Reply = std::function<void(const job::Result&)>;
    std::function<void(job::SpawnRequest request, Reply reply)> spawn;
    /// A process or tool wants something done to processes.
    std::function<void(job::ControlRequest request, Reply reply)> control;
    /// A process or tool wants what others write, or pushes to their input.
    std::function<void(job::PullRequest request, Reply reply)> pull;
    std::function<void(job::PushRequest request, Reply reply)> push;
    /// Jobs of these namespaces have been connected (PMIx_Connect), or disconnected. At the server of the
    /// first process that the callers have named.
    std::function<void(std::vector<std::string> nspaces, bool are_connected)> connected;
    /// The run of share_names() has gone.
    std::function<void()> names_lost;
  };
  /// Throws Stop (own_failure).
  explicit Server(const ServerIdentity& identity, Events events = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// From here on names that processes of all nodes publish and look up are those of another run: the value
  /// of --names-of. Throws Stop (own_failure): it is not there.
  void share_names(const std::string& of);

  /// Raises an event of the whole job for the tools of this server: PMIX_EVENT_JOB_START,
  /// PMIX_LAUNCH_COMPLETE, or with an ending PMIX_EVENT_JOB_END. The last is on its way to them before this
  /// object ends. nspace: of the job.
  void announce_job(pmix_status_t code, const std::string& nspace) const;
  void announce_end_of_job(const std::string& nspace, const job::Ending& ending) const;
  /// The same for one process of another node.
  void tell_job(pmix_status_t code, const std::string& nspace, const job::ProcessName& process) const;
  /// PMIX_READY_FOR_DEBUG, for the tools and processes of all nodes that listen to it: all ranks of the job
  /// that are to stop there have.
  void announce_held(const std::string& nspace, const std::string& breakpoint) const;
  /// Events about a job of other nodes are kept no longer for those that listen later.
  void forget_job(const std::string& nspace) const;

 private:
  friend class Namespace;
  friend struct Upcalls;
  /// Throws Stop (own_failure): there is one of that name.
  void add(Namespace& of);
  void remove(const Namespace& of) noexcept;
  void watch_losses();
  void watch_debuggers();

  const pmix_proc_t self_;
  const Events events_;
  bool watches_losses_ = false, watches_debuggers_ = false;
  mutable std::mutex mutex_;  ///< an upcall holds it: no namespace ends meanwhile
  std::map<std::string, Namespace*, std::less<>> namespaces_;
};

}  // namespace weft::host
