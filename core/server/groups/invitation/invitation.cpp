// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/invitation.hpp"

#include <algorithm>
#include <utility>

namespace weft::server {
namespace {

/// Of two servers that know of different ones: those of the one that knows the most come first.
link::RankRuns all_of(const link::RankRuns& some, const link::RankRuns& others) {
  auto procs = link::procs_or_none(some);
  auto more = link::procs_or_none(others);
  if (more.size() > procs.size()) std::swap(procs, more);
  procs.insert(procs.end(), more.begin(), more.end());
  return link::runs_of(link::each_once(procs));
}

}  // namespace

/// Ended with a group at one of the servers, or else without: so at all. Else a server that coordinates it
/// already goes on with that, and where there is none it is the lowest one of those with processes in it.
void InvitationItem::add(InvitationItem other) {
  if (other.end && (!end || (!end->made && other.end->made))) end = std::move(other.end);
  const bool is_first_with_processes = told.invited.empty() && !other.told.invited.empty();
  if (!is_settled && (other.is_settled || is_first_with_processes)) coordinator = other.coordinator;
  is_settled |= other.is_settled;
  told.members = all_of(told.members, other.told.members);
  told.invited = all_of(told.invited, other.told.invited);
}

const Invitee* Invitation::find(const pmix_proc_t& proc) const noexcept {
  const auto found = std::find_if(invitees.begin(), invitees.end(),
                                  [&](const Invitee& each) { return link::is_same(each.proc, proc); });
  return found == invitees.end() ? nullptr : &*found;
}

bool Invitation::is_complete() const noexcept {
  return std::all_of(invitees.begin(), invitees.end(), [](const Invitee& each) {
    return each.state == Invitee::State::coming || each.state == Invitee::State::out;
  });
}

Procs Invitation::all_in(Invitee::State wanted_state) const {
  Procs out;
  for (const auto& each : invitees)
    if (each.state == wanted_state) out.push_back(each.proc);
  return out;
}

Procs Invitation::participants() const {
  Procs out;
  for (const auto& each : invitees) {
    const bool takes_part = each.state == Invitee::State::asked || each.state == Invitee::State::coming;
    if (takes_part && !link::is_same(each.proc, leader)) out.push_back(each.proc);
  }
  return out;
}

link::RankRuns Invitation::members() const {
  Procs out;
  for (const auto& each : invitees)
    if (each.state != Invitee::State::out) out.push_back(each.proc);
  return link::runs_of(out);
}

bool Invitation::add(const pmix_proc_t& proc, Invitee* in_place_of) {
  if (auto* known = find(proc); known != nullptr) {
    if (known->state != Invitee::State::out) return false;
    *known = {proc};
  } else if (in_place_of == nullptr) {
    invitees.push_back({proc});
  } else {
    *in_place_of = {proc};
  }
  return true;
}

}  // namespace weft::server
