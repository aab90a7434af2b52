// SPDX-License-Identifier: BSD-3-Clause
// Bootstraps: what becomes of them where the server at which the callers come together is lost.
#include <algorithm>
#include <utility>

#include "core/server/groups/membership/bootstraps.hpp"

namespace weft::server {

void BootstrapItem::add(BootstrapItem other) {
  made.insert(made.end(), other.made.begin(), other.made.end());
  if (!other.failed || (failed && failed->end.number > other.failed->end.number)) return;
  if (!failed || failed->end.number < other.failed->end.number) {
    failed = std::move(other.failed);
    return;
  }
  failed->late.insert(failed->late.end(), other.failed->late.begin(), other.failed->late.end());
  failed->is_followed |= other.failed->is_followed;
}

bool Bootstraps::has_undecided() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [this](const WaitingRef& waiting) { return is_orphan(*waiting); }) ||
         std::any_of(failed_.begin(), failed_.end(),
                     [this](const auto& failed) { return peers_.is_lost(failed.second.keeper); });
}

std::vector<BootstrapItem> Bootstraps::items() const {
  std::map<std::string, BootstrapItem> out;
  const auto of = [&out](const std::string& group) -> BootstrapItem& {
    return out.try_emplace(group, BootstrapItem{.group = group}).first->second;
  };
  for (const auto& waiting : waiting_) {
    waiting->waits_for_view = is_orphan(*waiting);
    if (waiting->waits_for_view) of(waiting->call.group).is_open = true;
  }
  for (const auto& [group, end] : made_)
    if (peers_.is_lost(end.place)) of(group).made.push_back(end);
  for (const auto& [group, failed] : failed_) {
    if (!peers_.is_lost(failed.keeper)) continue;
    auto& item = of(group);
    item.is_open = true;
    item.failed = failed;
  }
  std::vector<BootstrapItem> items;
  for (auto& [group, item] : out) items.push_back(std::move(item));
  return items;
}

void Bootstraps::settle(std::vector<BootstrapItem> decided) {
  for (auto& item : decided) {
    for (const auto& end : item.made) learn(item.group, end, end.place);
    if (item.failed) remember(item.group, *item.failed);
    const auto open = waiting_;
    for (const auto& waiting : open) {
      if (!waiting->at || !waiting->waits_for_view || waiting->call.group != item.group) continue;
      waiting->call.failed = item.failed;
      send(waiting);
    }
  }
}

/// In the place of what a lost server had remembered. Calls of that attempt may be here before it.
void Bootstraps::remember(const std::string& group, FailedBootstrap failed) {
  const auto* known = failed_.find(group);
  if (known != nullptr && !peers_.is_lost(known->keeper)) return;
  failed.keeper = place_of(group, {});
  learn(group, failed.end, failed.keeper);
  auto& own = failed_.add(group, std::move(failed));
  const auto open = boots_.find(group);
  if (open == boots_.end()) return;
  own.is_followed |= std::any_of(open->second.callers.begin(), open->second.callers.end(),
                                 [&](const Caller& each) { return own.has_told(each.call.proc); });
  answer_late(group, {});
}

/// Of a named process that has finalized on another node, or has ended before its PMIx_Init, no server may
/// have told this one.
void Bootstraps::watch() {
  if (watch_timer_ || boots_.empty()) return;
  watch_timer_ = std::make_unique<Timer>(loop_, watch_period, [this] {
    watch_timer_.reset();
    for (const auto& [group, boot] : boots_) ask_for_ended(group, boot);
    watch();
  });
}

void Bootstraps::ask_for_ended(const std::string& group, const Boot& boot) {
  const auto name = name_of(group, boot);
  const auto by_node = peers_.by_node(link::procs_or_none(name.procs));
  for (const auto& [node, procs] : by_node) {
    if (node == peers_.self()) continue;
    peers_.send(node, RequestType::group_part, encode(name), PeerCalls::expect<PartReply>([this](auto reply) {
                  if (!reply || !reply->part) return;
                  for (const auto& rank : reply->part->missing) {
                    const bool has_died = rank.state == store::Local::gone;
                    if (has_died || rank.state == store::Local::finalized)
                      lose(link::make_proc(rank.nspace, rank.rank),
                           has_died ? PMIX_ERR_PROC_ABORTED : PMIX_ERR_UNREACH);
                  }
                }));
  }
}

void Bootstraps::lose(const pmix_proc_t& proc, pmix_status_t status) {
  gone_.emplace(link::nspace_of(proc), proc.rank);
  std::vector<WaitingRef> own;
  for (const auto& waiting : waiting_)
    if (link::is_same(waiting->from.proc(), proc)) own.push_back(waiting);
  for (const auto& waiting : own) give_up(waiting, status);
  std::vector<std::string> names;
  for (const auto& [group, boot] : boots_) names.push_back(group);
  for (const auto& group : names) {
    lose_caller(boots_.find(group), proc, status);
    const auto at = boots_.find(group);
    if (at == boots_.end()) continue;
    const auto lost = leave_out_gone(at->second);
    lost == PMIX_SUCCESS ? look(at) : end(at, lost);
  }
}

void Bootstraps::forget(std::string_view nspace) {
  std::erase_if(gone_, [&](const auto& each) { return each.first == nspace; });
  const auto is_of_it = [&](const link::RankRun& run) { return run.nspace == nspace; };
  failed_.erase_if([&](const std::string&, const FailedBootstrap& failed) {
    return std::any_of(failed.end.callers.begin(), failed.end.callers.end(), is_of_it);
  });
  made_.erase_if([&](const std::string&, const BootstrapEnd& made) {
    return std::any_of(made.members.begin(), made.members.end(), is_of_it);
  });
}

}  // namespace weft::server
