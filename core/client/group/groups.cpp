// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/group/groups.hpp"

#include <algorithm>

namespace weft::client {
namespace {

Result<pmix_proc_t> member_of(const Groups::Group& group, pmix_rank_t rank) {
  std::uint64_t before = 0;
  for (const auto& run : group.members) {
    const auto count = std::uint64_t{run.last} - run.first + 1;
    if (rank < before + count)
      return link::make_proc(run.nspace, static_cast<pmix_rank_t>(run.first + (rank - before)));
    before += count;
  }
  return fail(Errc::not_found, "no such group rank");
}

}  // namespace

void Groups::add(std::string_view name, Group group) {
  const std::lock_guard lock(mutex_);
  groups_.insert_or_assign(std::string(name), std::move(group));
  count_.store(groups_.size(), std::memory_order_relaxed);
}

void Groups::add_new(std::string_view name, Group group) {
  const std::lock_guard lock(mutex_);
  groups_.try_emplace(std::string(name), std::move(group));
  count_.store(groups_.size(), std::memory_order_relaxed);
}

void Groups::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = groups_.find(name); found != groups_.end()) groups_.erase(found);
  count_.store(groups_.size(), std::memory_order_relaxed);
}

void Groups::take(link::GroupChange change) {
  if (change.members.empty()) return remove(change.group);
  const std::lock_guard lock(mutex_);
  auto& group = groups_[change.group];
  group.members = std::move(change.members);
  group.context_id = change.context_id;
  count_.store(groups_.size(), std::memory_order_relaxed);
}

std::optional<Groups::Group> Groups::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(name);
  return found == groups_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Groups::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, group] : groups_) out.push_back(name);
  return out;
}

Result<void> Groups::append_native(std::span<const pmix_proc_t> procs, std::vector<pmix_proc_t>& out) const {
  const std::lock_guard lock(mutex_);
  for (const auto& proc : procs) {
    const auto found = groups_.find(link::nspace_of(proc));
    if (found == groups_.end()) {
      out.push_back(proc);
    } else if (proc.rank == PMIX_RANK_WILDCARD) {
      auto members = link::procs_of(found->second.members);
      if (!members) return fail(members.error());
      out.insert(out.end(), members->begin(), members->end());
    } else {
      const auto member = member_of(found->second, proc.rank);
      if (!member) return fail(member.error());
      out.push_back(*member);
    }
  }
  return {};
}

}  // namespace weft::client
