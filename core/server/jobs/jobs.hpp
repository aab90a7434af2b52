// SPDX-License-Identifier: BSD-3-Clause
// The namespaces of this server. The loop's thread only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/link/rank_runs.hpp"
#include "core/server/jobs/job.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

class Jobs {
 public:
  /// host_name: this node's name in the maps of jobs.
  Jobs(shm::Segment& segment, std::string host_name, store::Limits limits)
      : segment_(segment), host_name_(std::move(host_name)), limits_(limits) {}

  /// The keys by which jobs tell of their server where the host gives none: PMIX_SERVER_NSPACE,
  /// PMIX_SERVER_RANK, PMIX_SERVER_URI.
  void tell_server(const pmix_proc_t& server, std::string uri) {
    server_ = server;
    server_uri_ = std::move(uri);
  }

  /// Empty: not told.
  const std::string& server_uri() const noexcept { return server_uri_; }

  /// A namespace that is registered; null for any other.
  Job* find(std::string_view nspace);
  const Job* find(std::string_view nspace) const { return const_cast<Jobs*>(this)->find(nspace); }
  /// Also one that has ended, and is kept for the collectives that it was in with others.
  Job* known(std::string_view nspace);
  const Job* known(std::string_view nspace) const { return const_cast<Jobs*>(this)->known(nspace); }
  /// Also one that the host has only announced by registering a client.
  Job* find_announced(std::string_view nspace);
  Job& announce(const std::string& nspace);
  /// How many clients of this user the host has registered.
  std::size_t count_clients_of(uid_t user) const;
  /// Calls see(job) for each registered namespace, by name.
  template <class See>
  void each(See&& see) const {
    each_known([&](Job& job) {
      if (!job.has_ended) see(job);
    });
  }
  /// The same of those that known() knows.
  template <class See>
  void each_known(See&& see) const {
    for (const auto& [name, job] : jobs_)
      if (job->writer) see(*job);
  }

  /// Lays the namespace out in the segment; of one that is registered: adds the keys. is_new: set for the
  /// former.
  /// Errors: invalid, no_space, no_memory, and those of its values.
  Result<void> register_job(Job& job, int local_size, const data::Infos& infos, bool& is_new);
  /// Runs `task` when `nspace` is registered: at once, or at the end of its registration.
  /// The number is for forget_wait().
  using Wait = std::uint64_t;
  Wait when_registered(const std::string& nspace, std::function<void()> task);
  /// The task will not run. False: it has run.
  bool forget_wait(const std::string& nspace, Wait wait);
  /// Runs what waited for the registration of `nspace`.
  void announce_registered(std::string_view nspace);
  /// A namespace that the host has not registered, from what another server knows of it; at most most_learned
  /// are kept, the latest. PMIX_SUCCESS, PMIX_ERR_UNPACK_FAILURE, PMIX_ERR_OUT_OF_RESOURCE.
  pmix_status_t learn(const std::string& nspace, Bytes job_level);
  static constexpr std::size_t most_learned = 32;
  /// Takes it out of the segment and forgets it.
  void erase(std::string_view nspace);

  /// Whether another server may name these: ranks of jobs that are registered here, or a job by its wildcard,
  /// and few ranks of other jobs, which may have ended here. The bound keeps a damaged message from
  /// costing memory.
  bool may_be_named(const link::RankRuns& named) const;
  /// The processes of these runs, spelt out. Errors: corrupt.
  Result<Procs> procs_of(const link::RankRuns& named) const;
  /// The nodes of these processes, ascending; empty: not all of them are known here.
  std::vector<NodeNumber> nodes_of(const Procs& procs) const;

 private:
  void unlearn(Job& job);
  void add_server_keys(store::JobSpec& spec) const;

  shm::Segment& segment_;
  const std::string host_name_;
  const store::Limits limits_;
  pmix_proc_t server_{};
  std::string server_uri_;  ///< empty: nothing is told
  std::map<std::string, std::unique_ptr<Job>, std::less<>> jobs_;
  std::map<std::string, std::map<Wait, std::function<void()>>, std::less<>> waiting_;  ///< for a registration
  Wait next_wait_ = 1;
  std::deque<std::string> learned_;  ///< oldest first
};

}  // namespace weft::server
