// SPDX-License-Identifier: BSD-3-Clause
// Groups: the members of this node at a board. The offer of one, what they come to there while other nodes
// take part, and how they hear of its end.
#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/groups/operation/groups.hpp"

namespace weft::server {
namespace {

Meeting::Kind kind_of(store::GroupAct act) noexcept {
  if (act == store::GroupAct::made) return Meeting::Kind::construct;
  return act == store::GroupAct::ended ? Meeting::Kind::destruct : Meeting::Kind::fence;
}

store::GroupAct act_of(Meeting::Kind kind) noexcept {
  if (kind == Meeting::Kind::construct) return store::GroupAct::made;
  return kind == Meeting::Kind::destruct ? store::GroupAct::ended : store::GroupAct::fenced;
}

}  // namespace

/// The group's end, or the next construct of these members, can do without the server.
bool leaves_a_board_of_use(std::string_view key) noexcept {
  return key == PMIX_TIMEOUT || key == PMIX_GROUP_LOCAL_ONLY || key == PMIX_GROUP_ASSIGN_CONTEXT_ID ||
         key == PMIX_GROUP_INFO || key == PMIX_GROUP_LOCAL_CID || key == PMIX_GROUP_ENDPT_DATA;
}

/// The members of this node are of one job, can read the segment, and have brought the same array and no word
/// about how the group lives.
std::optional<link::GroupMembers> Groups::offer_board(const Meeting& meeting, const GroupOutcome& outcome) {
  const bool waits_for_all = outcome.status == PMIX_SUCCESS && outcome.options.waits_for_all();
  if (!waits_for_all || meeting.at_board != 0 || meeting.arrived.empty() ||
      operations_.is_gathering(meeting.set))
    return std::nullopt;
  std::map<std::uint64_t, pmix_proc_t> by_place;
  for (const auto& arrival : meeting.arrived) {
    const auto* infos = arrival.directives.data();
    const bool is_plain = std::all_of(infos, infos + arrival.directives.size(), [](const pmix_info_t& info) {
      return leaves_a_board_of_use(data::key_of(info));
    });
    const auto place = link::place_in(outcome.members, arrival.from.proc());
    if (!is_plain || !place || !arrival.from.connection->has_segment ||
        by_rank(arrival.procs) != outcome.members)
      return std::nullopt;
    by_place.emplace(*place, arrival.from.proc());
  }
  Procs here;
  for (const auto& [place, proc] : by_place) here.push_back(proc);
  const auto nspace = link::nspace_of(here.front());
  const bool is_of_one_job =
      std::all_of(here.begin(), here.end(), [&](const auto& proc) { return link::is_of(proc, nspace); });
  if (!is_of_one_job) return std::nullopt;
  return boards_.open(jobs_.find(nspace)->view(), meeting.set, outcome.members, link::runs_of(here));
}

/// Plain is what needs no word of the server: a group that is new, or one whose collectives wait for all its
/// members.
void Groups::run_at_board(GroupBoards::Full full) {
  table_.settle();
  Meeting meeting{.kind = kind_of(full.record.act), .group = full.record.name, .set = full.set};
  const bool constructs = meeting.kind == Meeting::Kind::construct;
  const auto* group = table_.find(meeting.group);
  const bool is_plain =
      constructs ? group == nullptr
                 : group != nullptr && group->members == full.members && group->options.waits_for_all();
  const bool is_by_rank = full.members == by_rank(full.set);
  const auto first = std::min_element(full.here.begin(), full.here.end(), link::is_less);
  for (auto proc = full.here.begin(); is_plain && proc != full.here.end(); ++proc) {
    const auto connection = jobs_.connection_of(*proc);
    if (connection == nullptr) break;
    meeting.arrived.push_back({{connection, 0}, {}, {}});
    if (!constructs || proc != first) continue;  // the order of the members is asked of the first only
    meeting.arrived.back().procs = is_by_rank ? full.set : link::procs_of(full.members).value_or(Procs());
  }
  if (meeting.arrived.size() != full.here.size()) return boards_.dissolve(full.ticket);
  link::Answer plain{PMIX_SUCCESS, {}, {}};
  if (constructs) plain.value = data::Value::of_bytes(link::encode(link::GroupMembers{.runs = full.members}));
  meeting.at_board = board_meetings_.add(meeting.kind, full, plain);
  run(std::move(meeting));
}

bool Groups::takes(const Requester& from, Meeting::Kind kind, const std::string& group, const Procs* set,
                   const data::Infos& directives, data::Deadline deadline) {
  const bool adjusts = kind == Meeting::Kind::fence && is_set(directives, PMIX_GROUP_FT_COLLECTIVE);
  boards_.came(from.proc(), store::tag_of(act_of(kind), group, adjusts));
  const auto number = board_meetings_.claim(from, kind, group, set);
  if (number == 0) return false;
  for (const auto& [key, operation] : operations_.with_nodes) {
    auto& meeting = operation->meeting;
    const bool is_sooner = deadline && (!meeting.deadline || *deadline < *meeting.deadline);
    if (meeting.at_board != number || !is_sooner) continue;
    meeting.deadline = deadline;
    watch_deadline(operation);
  }
  return true;
}

/// Of the members that were at a board with this tag those whose messages are to come, and are not of a
/// meeting that the board has had.
Procs Groups::sent_away(std::uint64_t tag, Meeting::Kind kind, const std::string& group,
                        const Procs& set) const {
  auto members = boards_.sent_away(tag);
  std::erase_if(members, [&](const pmix_proc_t& proc) {
    return !events::covers(set, proc) || board_meetings_.holds(proc, kind, group);
  });
  return members;
}

bool Groups::has_fence_from_boards(const std::string& group, const Procs& set) const {
  const auto is_there = [&](bool adjusts) {
    return !sent_away(store::tag_of(store::GroupAct::fenced, group, adjusts), Meeting::Kind::fence, group,
                      set)
                .empty();
  };
  return is_there(false) || is_there(true);
}

/// One of them that adjusts has them all go on.
void Groups::end_at_boards(Meeting::Kind kind, const std::string& group, const Procs& set, bool is_told) {
  const auto act = act_of(kind);
  if (!boards_.sent_away(store::tag_of(act, group, true)).empty()) return;
  auto members = sent_away(store::tag_of(act, group), kind, group, set);
  if (members.empty()) return;
  const GroupBoards::Full full{set, {}, std::move(members), {act, group}, {}};
  board_meetings_.answer(board_meetings_.add(kind, full, {PMIX_SUCCESS, {}, {}}), {PMIX_ERR_UNREACH, {}, {}});
  if (!is_told) fail({.kind = kind, .group = group, .set = set}, Exchanges::changed);
}

void Groups::lose_at_boards(const pmix_proc_t& proc) {
  boards_.lose(proc);
  board_meetings_.lose(proc);
}

void Groups::answer(const Meeting& meeting, const link::Answer& answer) {
  if (meeting.at_board == 0) return server::answer(meeting, answer);
  board_meetings_.answer(meeting.at_board, answer);
}

}  // namespace weft::server
