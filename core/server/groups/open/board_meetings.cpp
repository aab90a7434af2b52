// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/board_meetings.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

std::uint64_t BoardMeetings::add(Meeting::Kind kind, const GroupBoards::Full& full,
                                 const link::Answer& plain) {
  Entry entry{kind, full.record.name, full.set, full.ticket, link::encode(plain), {}};
  for (const auto& proc : full.here) entry.waiting.push_back({proc});
  open_.emplace(++last_, std::move(entry));
  return last_;
}

/// False: it waits for the member's message.
bool BoardMeetings::settle(Member& member, const Bytes& answer) {
  if (member.answer.empty()) member.answer = answer;
  if (member.from.connection == nullptr) return false;
  member.from.answer_encoded(member.answer);
  return true;
}

void BoardMeetings::answer(std::uint64_t number, const link::Answer& answer) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  auto& entry = found->second;
  const auto bytes = link::encode(answer);
  if (bytes == entry.plain && boards_.complete(entry.ticket)) {
    open_.erase(found);
    return;
  }
  boards_.dissolve(entry.ticket);
  std::erase_if(entry.waiting, [&](Member& member) { return settle(member, bytes); });
  if (entry.waiting.empty()) open_.erase(found);
}

void BoardMeetings::answer(std::uint64_t number, const pmix_proc_t& member, pmix_status_t status) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  auto& entry = found->second;
  boards_.dissolve(entry.ticket);  // it would hear from the board that all is well
  const auto bytes = link::encode(link::Answer{status, {}, {}});
  std::erase_if(entry.waiting,
                [&](Member& each) { return link::is_same(each.proc, member) && settle(each, bytes); });
  if (entry.waiting.empty()) open_.erase(found);
}

bool BoardMeetings::holds(const pmix_proc_t& member, Meeting::Kind kind, const std::string& group) const {
  return std::any_of(open_.begin(), open_.end(), [&](const auto& each) {
    const auto& [number, entry] = each;
    return entry.kind == kind && entry.group == group &&
           std::any_of(entry.waiting.begin(), entry.waiting.end(), [&](const Member& one) {
             return one.from.connection == nullptr && link::is_same(one.proc, member);
           });
  });
}

std::uint64_t BoardMeetings::claim(const Requester& from, Meeting::Kind kind, const std::string& group,
                                   const Procs* set) {
  for (auto each = open_.begin(); each != open_.end(); ++each) {
    auto& [number, entry] = *each;
    const bool is_it =
        entry.kind == kind && entry.group == group && (set == nullptr || is_same(entry.set, *set));
    if (!is_it) continue;
    const auto member = std::find_if(entry.waiting.begin(), entry.waiting.end(), [&](const Member& one) {
      return one.from.connection == nullptr && link::is_same(one.proc, from.proc());
    });
    if (member == entry.waiting.end()) continue;
    member->from = from;
    const auto out = number;
    if (!member->answer.empty() && settle(*member, {})) entry.waiting.erase(member);
    if (entry.waiting.empty()) open_.erase(each);
    return out;
  }
  return 0;
}

void BoardMeetings::lose(const pmix_proc_t& proc) {
  for (auto each = open_.begin(); each != open_.end();) {
    std::erase_if(each->second.waiting,
                  [&](const Member& member) { return events::covers(proc, member.proc); });
    each = each->second.waiting.empty() ? open_.erase(each) : std::next(each);
  }
}

}  // namespace weft::server
