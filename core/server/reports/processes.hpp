// SPDX-License-Identifier: BSD-3-Clause
// What is known of the processes of a job, on all its nodes. The loop's thread only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

/// A process as the server of its node knows it.
struct ProcessRow {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;  ///< 0: it has not connected, and its host has not said
  pmix_proc_state_t state = PMIX_PROC_STATE_UNDEF;
  NodeNumber node = 0;  ///< whose server has told; does not travel
  // Of a job that the asking server does not know; else the job has them:
  std::string host{}, program{};
};
template <class Archive>
void fields(Archive& archive, ProcessRow& m) {
  archive(m.rank, m.pid, m.state, m.host, m.program);
}
struct ProcessRows {
  std::vector<ProcessRow> rows;
};
template <class Archive>
void fields(Archive& archive, ProcessRows& m) {
  archive(m.rows);
}
struct ProcessesRequest {
  std::string nspace;
  bool wants_names = false;  ///< host and program: the sender does not know the job
};
template <class Archive>
void fields(Archive& archive, ProcessesRequest& m) {
  archive(m.nspace, m.wants_names);
}

class Processes {
 public:
  using Then = std::function<void(const std::vector<ProcessRow>&)>;

  Processes(const Jobs& jobs, Cluster& cluster);

  /// Those of this node, in the order in which the host registered them.
  std::vector<ProcessRow> here(const Job& job) const;
  /// Collects the rows of all processes of the job, by rank. Where the server of a node is lost, or never
  /// told, nothing but the ranks is known.
  void collect(const Job& job, Then then) const;
  /// The same of a job that is registered on other nodes only: each server is asked. No rows: no server
  /// knows it.
  void collect(const std::string& nspace, Then then) const;

 private:
  const Jobs& jobs_;
  Cluster& cluster_;
};

/// An array of pmix_proc_info_t of these processes. job: null: it is not known here. Errors: no_memory.
Result<data::Value> process_table(const std::string& nspace, const Job* job,
                                  const std::vector<ProcessRow>& rows);

}  // namespace weft::server
