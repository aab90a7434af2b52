// SPDX-License-Identifier: BSD-3-Clause
// Processes as a caller names them, by a group or by their own namespace, as what the host calls them
// (core/client/group/groups.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/client/group/groups.hpp"
#include "core/data/types/value.hpp"
#include "pmix_common.h"

namespace weft::abi {

/// Whether the name may stand for a member of a group, or for a whole group. Takes no lock, since each Get
/// asks; false for every process of the caller's own namespace.
bool may_name_group(const pmix_proc_t& proc) noexcept;

/// The caller's array where it is in no groups, and without a copy then. status(): PMIX_ERR_NOT_FOUND: no
/// such group rank.
class NativeProcs {
 public:
  NativeProcs(const pmix_proc_t* procs, std::size_t count);
  pmix_status_t status() const noexcept { return status_; }
  const pmix_proc_t* data() const noexcept { return procs_; }
  std::size_t size() const noexcept { return count_; }

 private:
  const pmix_proc_t* procs_;
  std::size_t count_;
  std::vector<pmix_proc_t> native_;
  pmix_status_t status_ = PMIX_SUCCESS;
};

/// The group of which the one process means all members, by its name.
std::optional<client::Groups::Group> whole_group(const pmix_proc_t* procs, std::size_t count);

/// Replaces the name of a member by that of its process. The name of a whole group becomes the namespace of
/// its members.
/// PMIX_ERR_NOT_FOUND: no such group rank; PMIX_ERR_BAD_PARAM: the members are of several namespaces.
pmix_status_t make_native(pmix_proc_t& proc);
/// The processes that infos of an event name: PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_AFFECTED_PROC and _PROCS.
pmix_status_t make_native(data::Infos& infos);
/// PMIX_GROUP_MEMBERSHIP and PMIX_GROUP_CONTEXT_ID of a group; PMIX_GROUP_NAMES of this process (another
/// process's server knows those of that process). PMIX_UNDEF: another question.
data::Value value_of_group(const pmix_proc_t& proc, std::string_view key);

}  // namespace weft::abi
