// SPDX-License-Identifier: BSD-3-Clause
// Data as the host's own process stores it and asks for it. Source: PMIx Standard, chapters "Data Access and
// Sharing" and "Server-specific interfaces".
//
// Threads   Any. What is here is looked up by the calling thread, without the loop: lock-free but for private
//           values. `done` runs on the loop's thread; where the loop does not come to it, with PMIX_ERR_INIT.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/cards/gets.hpp"
#include "core/server/loop/host_calls.hpp"
#include "core/store/get/local_values.hpp"

namespace weft::server {

class HostData {
 public:
  HostData(HostCalls& calls, const shm::Segment& segment, Jobs& jobs, Gets& gets)
      : calls_(calls), segment_(segment), jobs_(jobs), gets_(gets) {}
  HostData(const HostData&) = delete;
  HostData& operator=(const HostData&) = delete;

  /// What is here: private values, then the segment. key empty: everything about proc.
  /// Errors: not_found, outside_scope, corrupt, no_memory.
  Result<data::Value> look_up(const pmix_proc_t& proc, std::string_view key,
                              const store::GetDirectives& how) const;
  void get(pmix_proc_t proc, std::string key, data::Infos infos,
           std::function<void(pmix_status_t, data::Value)> done);
  /// A private value; or, as PMIX_PROC_PID of a client that is registered here, its pid, for tables of
  /// processes until it connects. PMIX_ERR_BAD_PARAM, _UNKNOWN_DATA_TYPE.
  pmix_status_t store(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  /// Lives as long as the server.
  pmix_value_t* keep(data::Value value);
  /// The card of a rank of this node, or, of the wildcard rank, its namespace's data.
  void card(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done);
  /// The ranks of a namespace on a node, empty: this one. PMIX_ERR_NOT_FOUND: there is none.
  void peers_on(std::string node, std::string nspace,
                std::function<void(pmix_status_t, std::vector<pmix_proc_t>)> done);
  /// The names of its nodes, separated by commas. PMIX_ERR_NOT_FOUND: there is no such namespace.
  void nodes_of(std::string nspace, std::function<void(pmix_status_t, std::string)> done);

 private:
  void note_pid(const pmix_proc_t& proc, pid_t pid);

  HostCalls& calls_;
  const shm::Segment& segment_;
  Jobs& jobs_;
  Gets& gets_;
  store::LocalValues private_;
  std::mutex kept_mutex_;
  std::vector<std::unique_ptr<data::Value>> kept_;
};

}  // namespace weft::server
