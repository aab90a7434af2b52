// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/owed_answers.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

void OwedAnswers::add(OperationName name, Procs set, Blob answer, Procs members) {
  if (members.empty()) return;
  if (all_.size() == most) all_.pop_front();
  all_.push_back({std::move(name), std::move(set), std::move(answer), std::move(members)});
}

std::optional<Blob> OwedAnswers::take(const OperationName& name, const Procs& set, const pmix_proc_t& proc) {
  for (auto ended = all_.begin(); ended != all_.end(); ++ended) {
    const bool is_it = ended->name == name && (!name.group.empty() || is_same(ended->set, set));
    if (!is_it) continue;
    auto& members = ended->members;
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
    if (member == members.end()) continue;
    members.erase(member);
    if (!members.empty()) return ended->answer;
    auto out = std::move(ended->answer);
    all_.erase(ended);
    return out;
  }
  return std::nullopt;
}

bool OwedAnswers::owes(const OperationName& name, const pmix_proc_t& proc) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Ended& ended) { return ended.name == name && contains(ended.members, proc); });
}

void OwedAnswers::lose(const pmix_proc_t& proc) {
  for (auto& ended : all_)
    std::erase_if(ended.members, [&](const pmix_proc_t& each) { return events::covers(proc, each); });
  std::erase_if(all_, [](const Ended& ended) { return ended.members.empty(); });
}

void OwedAnswers::leave(const std::string& group, const pmix_proc_t& proc) {
  for (auto& ended : all_)
    if (ended.name.group == group)
      std::erase_if(ended.members, [&](const pmix_proc_t& each) { return link::is_same(proc, each); });
  std::erase_if(all_, [](const Ended& ended) { return ended.members.empty(); });
}

}  // namespace weft::server
