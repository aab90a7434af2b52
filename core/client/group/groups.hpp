// SPDX-License-Identifier: BSD-3-Clause
// The groups that this process is a member of. A group's name may stand wherever a namespace may, with
// PMIX_RANK_WILDCARD for all of its members or a group rank for one; here it becomes what the host calls
// them, before anything else sees it. Any thread.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/link/requests.hpp"
#include "weft/result.hpp"

namespace weft::client {

class Groups {
 public:
  struct Group {
    link::RankRuns members;        ///< by group rank
    std::uint64_t context_id = 0;  ///< 0: none
    bool fences_by_host = false;   ///< as in link::GroupMembers
  };

  void add(std::string_view name, Group group);
  /// Made without the server: what that has said of it meanwhile is newer.
  void add_new(std::string_view name, Group group);
  void remove(std::string_view name);
  /// Takes word of the server about a group of which an event will tell, or which has changed.
  void take(link::GroupChange change);
  std::optional<Group> find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// Without a lock: calls that name processes ask it each time.
  bool is_empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  /// Appends the members that each of `procs` means, or itself where it names no group. Errors: not_found (no
  /// such group rank).
  Result<void> append_native(std::span<const pmix_proc_t> procs, std::vector<pmix_proc_t>& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Group, std::less<>> groups_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace weft::client
