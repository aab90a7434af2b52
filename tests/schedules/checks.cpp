// SPDX-License-Identifier: BSD-3-Clause
// What has to be so when a run has come to its end.
#include <fmt/format.h>

#include <algorithm>

#include "tests/schedules/record.hpp"

namespace weft::schedules {
namespace {

std::string text_of(const link::RankRuns& runs) {
  std::string out;
  for (const auto& run : runs)
    out += fmt::format(" {}{}-{}", run.nspace == simulation::World::nspace ? "" : run.nspace + ":", run.first,
                       run.last);
  return out;
}

class Check {
 public:
  Check(const Schedule& schedule, Record& record)
      : schedule_(schedule), places_(schedule.shape.places()), record_(record) {}

  void all() {
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
      if (is_of_name(schedule_.operations[i].kind)) continue;  // names.cpp
      const bool is_invitation = schedule_.operations[i].kind == Kind::invite;
      is_invitation ? invitation(i) : same_end(i);
      if (schedule_.faults.empty()) expected_end(i);
    }
    groups();
    departures();
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i)
      if (schedule_.operations[i].kind == Kind::notify) event(i);
  }

 private:
  const Ended* end_of(std::size_t operation, Rank rank) const {
    const auto& ended = record_.ended[operation][rank];
    return record_.is_left[rank] && ended ? &*ended : nullptr;
  }
  Rank ranks() const { return static_cast<Rank>(record_.is_left.size()); }
  void violates(std::string what) { record_.violations.push_back(std::move(what)); }

  /// Those that are there at the end have heard the same.
  void same_end(std::size_t i) {
    for (Rank rank = 0; rank < ranks(); ++rank)
      for (Rank other = 0; other < rank; ++other) {
        const auto *here = end_of(i, rank), *there = end_of(i, other);
        if (here == nullptr || there == nullptr || *here == *there) continue;
        if (is_behind(i, rank, other) || is_behind(i, other, rank) || have_failed(i, *here, *there)) continue;
        return violates(fmt::format("operation {} has ended with {} at rank {}{}, and with {} at rank {}{}",
                                    i, to_text(*there), other, when(i, other), to_text(*here), rank,
                                    when(i, rank)));
      }
  }

  /// Where a time-out passes beside another reason, a process may hear either: those whose node has not come
  /// to the attempt that another one has given up are in the next.
  bool have_failed(std::size_t i, const Ended& one, const Ended& other) const {
    const auto& operation = schedule_.operations[i];
    const bool has_reasons = operation.timeout != 0 && operation.leaders == 0;
    return (has_reasons || names_ended_job(i)) && !one.is_made() && !other.is_made();
  }

  /// A node that has not heard of the job's end says which of its processes is lost, another knows none of
  /// them any more.
  bool names_ended_job(std::size_t i) const {
    const auto& members = schedule_.operations[i].members;
    return std::any_of(members.begin(), members.end(),
                       [&](Rank rank) { return record_.end_of_job[places_.job_of(rank)].has_value(); });
  }

  std::string when(std::size_t i, Rank rank) const {
    using Seconds = std::chrono::duration<double>;
    return fmt::format(" ({:.6f} to {:.6f} s)", Seconds(record_.called[i][rank]).count(),
                       Seconds(record_.ended_at[i][rank]).count());
  }

  /// A time-out, for which the other has failed, had passed when this one called, or about then: it may be in
  /// another attempt.
  bool is_behind(std::size_t i, Rank rank, Rank other) const {
    constexpr std::chrono::milliseconds on_the_way{5};
    const auto& operation = schedule_.operations[i];
    auto first = record_.called[i][other];
    for (const auto member : operation.members)
      if (const auto when = record_.called[i][member]; when.count() != 0) first = std::min(first, when);
    return operation.timeout != 0 && operation.leaders == 0 && !end_of(i, other)->is_made() &&
           first + std::chrono::seconds(operation.timeout) <= record_.called[i][rank] + on_the_way;
  }

  /// Those that have the group have the same, and are in it, and those that are in it have it; without a
  /// group all have the same status.
  void invitation(std::size_t i) {
    std::optional<Rank> first, unmade;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const auto* end = end_of(i, rank);
      if (end == nullptr) continue;
      auto& like = end->is_made() ? first : unmade;
      if (!like) like = rank;
    }
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const auto* here = end_of(i, rank);
      if (here == nullptr) continue;
      const auto* there = end_of(i, first ? *first : *unmade);
      const bool is_in = first && places_.holds(there->members, rank);
      const bool is_same = here->members == there->members && here->context == there->context;
      if (first && (here->is_made() != is_in || (here->is_made() && !is_same)))
        violates(fmt::format("invitation {} has ended with {} at rank {}, and with {} at rank {}", i,
                             to_text(*there), *first, to_text(*here), rank));
      if (!first && here->status != there->status)
        violates(fmt::format("invitation {} has ended with {} at rank {}, and with {} at rank {}", i,
                             to_text(*there), *unmade, to_text(*here), rank));
    }
  }

  /// Where nothing was lost.
  void expected_end(std::size_t i) {
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const auto* end = end_of(i, rank);
      // All members may have finalized, or left.
      const auto& operation = schedule_.operations[i];
      const bool is_open = (operation.kind == Kind::join && may_be_empty(operation.group)) ||
                           (operation.kind == Kind::join && operation.refuses && end != nullptr &&
                            end->is_made() && may_be_invited(operation.group, rank)) ||
                           (operation.kind == Kind::get && operation.late) ||  // handlers.cpp
                           is_of_ended_job(i, rank);
      if (end == nullptr || is_open || end->status == expected_of(i, rank)) continue;
      violates(fmt::format("operation {} has ended with {} at rank {}, and nothing was lost", i,
                           to_text(*end), rank));
    }
  }

  /// Before the rank had the end of that operation, a job had ended one of whose processes it is about.
  bool is_of_ended_job(std::size_t i, Rank rank) const {
    const auto& all = schedule_.operations;
    const auto has_ended = [&](Rank of) {
      const auto& end = record_.end_of_job[places_.job_of(of)];
      return end && *end <= record_.ended_at[i][rank];
    };
    if (all[i].kind == Kind::get && has_ended(all[i].target)) return true;
    return std::any_of(all.begin(), all.end(), [&](const Operation& each) {
      const bool is_it = &each == &all[i] || (!each.group.empty() && each.group == all[i].group);
      return is_it && std::any_of(each.members.begin(), each.members.end(), has_ended);
    });
  }

  /// Then it may be a member before its own join is looked at.
  bool may_be_invited(const std::string& group, Rank rank) const {
    const auto& all = schedule_.operations;
    return std::any_of(all.begin(), all.end(), [&](const Operation& each) {
      return each.kind == Kind::invite && each.group == group &&
             std::binary_search(each.members.begin(), each.members.end(), rank);
    });
  }

  bool may_be_empty(const std::string& group) const {
    const auto& all = schedule_.operations;
    return schedule_.finalizes || std::any_of(all.begin(), all.end(), [&](const Operation& each) {
             return each.kind == Kind::leave && each.group == group;
           });
  }

  pmix_status_t expected_of(std::size_t i, Rank rank) const {
    const auto& operation = schedule_.operations[i];
    if (operation.kind == Kind::join && operation.refuses) return PMIX_ERR_NOT_A_MEMBER;
    if (operation.kind != Kind::invite) return PMIX_SUCCESS;
    bool has_declined = false, is_silent = false;
    for (std::size_t m = 0; m < operation.members.size(); ++m) {
      if (record_.invited[i].count(operation.members[m]) == 0) continue;  // it is a member already
      has_declined |= operation.answers[m] == Answer::declines;
      is_silent |= operation.answers[m] == Answer::none;
    }
    if (has_declined && !operation.is_optional && !operation.decides) return PMIX_GROUP_INVITE_DECLINED;
    if (is_silent) return PMIX_ERR_TIMEOUT;
    return has_declined && rank == operation.target ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS;
  }

  /// At the end all that are in a group know the same members, and those that are among these are in it. A
  /// process that has finalized hears of no change.
  void groups() {
    if (schedule_.finalizes) return;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      if (!record_.is_left[rank]) continue;
      for (const auto& [name, members] : record_.groups[rank]) {
        if (!places_.holds(members, rank))
          violates(fmt::format("rank {} knows {} with members{}, and is none", rank, name, text_of(members)));
        for (Rank other = 0; other < ranks(); ++other) {
          if (!record_.is_left[other] || !places_.holds(members, other)) continue;
          const auto there = record_.groups[other].find(name);
          const bool is_same = there != record_.groups[other].end() && there->second == members;
          if (!is_same)
            violates(fmt::format(
                "{} has members{} at rank {}, and{} at rank {}", name, text_of(members), rank,
                there == record_.groups[other].end() ? " is not known" : text_of(there->second), other));
        }
      }
    }
  }

  /// Each process that it is for hears it once, but for its source, whose own library tells it.
  void event(std::size_t i) {
    const auto& operation = schedule_.operations[i];
    const auto source = operation.members.front();
    const auto& end = record_.ended[i][source];
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const bool is_for_it =
          rank != source && (operation.is_local ? places_.node_of(rank) == places_.node_of(source)
                                                : places_.job_of(rank) == places_.job_of(source));
      const auto found = record_.heard[i].find(rank);
      const auto count = found == record_.heard[i].end() ? 0 : found->second;
      if (count > (is_for_it ? 1u : 0u))
        violates(fmt::format("rank {} has heard event {} of rank {} {} times", rank, i, source, count));
      const bool is_sure = end && end->status == PMIX_SUCCESS && record_.has_server[source] &&
                           record_.is_left[rank] && !schedule_.finalizes && record_.began[rank] &&
                           *record_.began[rank] < record_.called[i][source];
      if (count == 0 && is_for_it && is_sure)
        violates(fmt::format("rank {} has not heard event {} of rank {}", rank, i, source));
    }
  }

  /// A leave is told once to each process.
  void departures() {
    for (const auto& [departure, count] : record_.departures) {
      const auto& [group, of, by] = departure;
      const auto leaves = std::count_if(schedule_.operations.begin(), schedule_.operations.end(),
                                        [&, group = group, of = of](const auto& each) {
                                          return each.kind == Kind::leave && each.group == group &&
                                                 each.members.front() == of;
                                        });
      if (count > static_cast<std::size_t>(leaves))
        violates(fmt::format("rank {} has heard {} times that rank {} has left {}", by, count, of, group));
    }
  }

  const Schedule& schedule_;
  const simulation::Places places_;
  Record& record_;
};

}  // namespace

std::string to_text(const Ended& ended) {
  const auto members = text_of(ended.members);
  return fmt::format("{}{}{}", ended.status, members.empty() ? "" : " members" + members,
                     ended.context == 0 ? "" : fmt::format(" context {:x}", ended.context));
}

void check(const Schedule& schedule, Record& record) {
  Check(schedule, record).all();
}

}  // namespace weft::schedules
