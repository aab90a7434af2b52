// SPDX-License-Identifier: BSD-3-Clause
// A PMIx job as PMI-1 and PMI-2 see it: ranks 0 to n-1 and one space of keys, in which a value has no owner.
// Both libraries and weftpmi are made of it.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/spawn/spawn.hpp"

namespace weft::pmi {

/// Of a service, and of a port: MPICH's MPI_MAX_PORT_NAME, for PMI-1 says no size.
inline constexpr std::size_t service_room = 256, port_room = 256;
static_assert(PMIX_MAX_NSLEN < name_room);

/// One thread uses a Job.
class Job {
 public:
  /// PMIx_Init. A process that no PMIx server started is the only rank of its own job; where the environment
  /// names a server that is not to be had, that is an error.
  pmix_status_t open();
  pmix_status_t close();
  bool is_open() const noexcept { return is_open_; }

  std::uint32_t rank() const noexcept { return self_.rank; }
  std::uint32_t size() const noexcept { return size_; }
  std::string name() const { return self_.nspace; }
  std::uint32_t universe_size() const;
  std::uint32_t app_number() const;
  /// The name of the job that has asked for this one.
  std::optional<std::string> parent() const;
  std::vector<std::uint32_t> local_ranks() const;  ///< of this node, ascending
  /// The text of pmi/job/process_mapping; none where it is too long for a value.
  std::optional<std::string> process_mapping() const;

  /// Errors: those of pmi/spawn; of a name without the servers of a job PMIX_ERR_UNREACH.
  Spawned spawn(const SpawnOrder& order) const;
  /// A value that the job was spawned with.
  std::optional<std::string> get_preput(std::string_view key) const;

  /// Every rank can read it after the next fence. Errors: those of PMIx_Put.
  pmix_status_t put(std::string_view key, std::string_view value);
  /// Returns after all ranks have entered.
  pmix_status_t fence();
  /// hint: the rank that is likely to have put it. Asks no other process, so it costs microseconds also for a
  /// key that is nowhere.
  std::optional<std::string> get(std::string_view key, std::optional<std::uint32_t> hint = {}) const;

  /// Another job, whose values can be read from now on by get_of(). Errors: PMIX_ERR_NOT_FOUND.
  pmix_status_t connect(const std::string& job);
  pmix_status_t disconnect(std::string_view job);
  bool is_connected(std::string_view job) const { return connected_.find(job) != connected_.end(); }
  /// What a rank of a connected job has put before its last fence; no rank: the first that has put it.
  std::optional<std::string> get_of(std::string_view job, std::string_view key,
                                    std::optional<std::uint32_t> rank) const;

  /// At once for the ranks of this node, and for no others.
  pmix_status_t put_on_node(std::string_view key, std::string_view value);
  std::optional<std::string> get_on_node(std::string_view key) const;

  /// A name of a service, for all jobs of the cluster, until this job ends. Errors: those of PMIx_Publish; of
  /// a name without the servers of a job PMIX_ERR_UNREACH.
  pmix_status_t publish(std::string_view service, std::string_view port);
  pmix_status_t unpublish(std::string_view service);
  std::optional<std::string> look_up(std::string_view service) const;

  /// Ends the whole job; returns to this process all the same.
  pmix_status_t abort(int status, const char* message);

 private:
  std::optional<std::string> text_of(std::uint32_t rank, const std::string& key) const;
  std::optional<std::uint32_t> number_of(std::uint32_t rank, const char* key) const;

  pmix_proc_t self_{};
  std::uint32_t size_ = 1;
  bool is_open_ = false, is_alone_ = false;
  std::vector<KeyValue> preput_;
  std::map<std::string, std::uint32_t, std::less<>> connected_;  // the sizes of other jobs, by name
};

}  // namespace weft::pmi
