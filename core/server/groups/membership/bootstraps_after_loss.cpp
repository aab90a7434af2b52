// SPDX-License-Identifier: BSD-3-Clause
// Bootstraps: what becomes of them where the server at which the callers come together is lost.
#include <algorithm>
#include <utility>

#include "core/server/groups/membership/bootstraps.hpp"

namespace weft::server {

bool Bootstraps::has_undecided() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [this](const WaitingRef& waiting) { return is_orphan(*waiting); }) ||
         std::any_of(failed_.begin(), failed_.end(),
                     [this](const auto& failed) { return peers_.is_lost(failed.second.place); });
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
  for (const auto& [group, members] : latest_members_)
    if (is_under_way(group, members)) of(group).ready.push_back(link::runs_of(members));
  for (const auto& [group, failed] : failed_) {
    if (!peers_.is_lost(failed.place)) continue;
    auto& item = of(group);
    item.is_open = true;
    item.why = failed.status;
    for (const auto& caller : failed.callers) item.failed.push_back(caller.call);
  }
  std::vector<BootstrapItem> items;
  for (auto& [group, item] : out) items.push_back(std::move(item));
  return items;
}

void Bootstraps::settle(std::vector<BootstrapItem> decided) {
  for (const auto& item : decided) {
    if (item.why != PMIX_SUCCESS) remember(item);
    const auto open = waiting_;
    for (const auto& waiting : open) {
      if (!waiting->at || !waiting->waits_for_view || waiting->call.group != item.group) continue;
      const auto ready = std::find_if(
          item.ready.begin(), item.ready.end(),
          [&](const link::RankRuns& members) { return link::holds(members, waiting->call.proc); });
      ready != item.ready.end() ? finish(waiting, PMIX_SUCCESS, *ready) : send(waiting);
    }
  }
}

/// In the place of what a lost server had remembered. Calls of that attempt may be here before it.
void Bootstraps::remember(const BootstrapItem& item) {
  const auto* known = failed_.find(item.group);
  if (known != nullptr && !peers_.is_lost(known->place)) return;
  auto& failed =
      failed_.add(item.group, {.since = {}, .status = item.why, .place = place_of(item.group, {})});
  for (const auto& call : item.failed) failed.callers.push_back({call, nullptr});
  const auto open = boots_.find(item.group);
  if (open == boots_.end()) return;
  failed.is_followed = std::any_of(open->second.callers.begin(), open->second.callers.end(),
                                   [&](const Caller& each) { return has_called(failed, each.call.proc); });
  answer_late(item.group, {});
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
  const auto by_node = peers_.by_node(link::procs_of(name.procs).value_or(Procs()));
  for (const auto& [node, procs] : by_node) {
    if (node == peers_.self()) continue;
    peers_.send(node, RequestType::group_part, encode(name), PeerCalls::expect<FencePart>([this](auto part) {
                  if (!part) return;
                  for (const auto& rank : part->missing) {
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
  for (const auto& waiting : own) {
    erase(waiting);
    waiting->from.reply(status);
    tell_end(waiting, status);
  }
  for (auto each = boots_.begin(); each != boots_.end();) {
    const auto at = each++;
    const auto lost = leave_out_gone(at->second);
    lost == PMIX_SUCCESS ? look(at) : end(at, lost);
  }
}

void Bootstraps::forget(std::string_view nspace) {
  std::erase_if(gone_, [&](const auto& each) { return each.first == nspace; });
  failed_.erase_if([&](const std::string&, const Boot& failed) {
    return std::any_of(failed.callers.begin(), failed.callers.end(),
                       [&](const Caller& each) { return link::is_of(each.call.proc, nspace); });
  });
}

}  // namespace weft::server
