// SPDX-License-Identifier: BSD-3-Clause
// What a job leaves for its user beside its output: its plan and its end (--verbose), the account of its
// start (--report launch), the trace of its calls (WEFT_TRACE). On the loop.
#pragma once

#include "tools/cluster/cluster.hpp"
#include "tools/jobs/job.hpp"
#include "tools/node/local_ranks.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/launcher/user_run.hpp"
#include "tools/weftrun/plan/launch_message.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class JobRecords {
 public:
  /// Of the job; each outlives this object.
  struct Of {
    UserRun& run;
    const Plan& plan;
    const placement::RankTable& table;
    const channel::order::Launch& launch;
    const jobs::Job& job;
  };
  explicit JobRecords(const Of& of) : of_(of) {}
  /// local: its ranks here; null: none. cluster: null: there are no other nodes. Both outlive this object, or
  /// are taken away before they end.
  void set_up(node::LocalRanks* local, const cluster::Cluster* cluster) noexcept {
    local_ = local;
    cluster_ = cluster;
  }

  /// Null: no account is kept for the start of this job.
  StartAccount* account() const { return of_.launch.accounts ? of_.run.account() : nullptr; }
  /// Null: this job is not traced.
  JobTrace* trace() const { return of_.launch.traces ? of_.run.trace() : nullptr; }

  void print_plan() const;  ///< for --verbose
  void print_end() const;   ///< the same
  /// How its start went, as far as it came, where the user asks for that. Once.
  void print_account();
  /// The trace of its calls, where the user asks for that; after its end. False: it cannot be written, which
  /// is said.
  bool write_trace();

 private:
  /// The job is launched again, because a node is not reached by the transport: that one counts.
  bool starts_again() const { return cluster_ != nullptr && cluster_->wants_another_transport(); }

  const Of of_;
  node::LocalRanks* local_ = nullptr;
  const cluster::Cluster* cluster_ = nullptr;
  bool is_accounted_ = false;
};

}  // namespace weft::weftrun
