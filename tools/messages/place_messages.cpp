// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/place_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tools/job/ranges.hpp"
#include "tools/messages/messages.hpp"

namespace weft::messages {
namespace {

using job::Place;
using job::Rank;

constexpr std::size_t most_groups = 24;  ///< places of a job that are told apart
constexpr std::size_t most_stacks = 8;   ///< of one place
constexpr std::size_t most_named = 4;    ///< ranks of a group, with pid and host

/// Ranks in one call.
struct Group {
  struct Member {
    Rank rank;
    std::int32_t pid;
    const std::string* host;
  };
  std::vector<Member> members;
  std::uint64_t least_ms = ~std::uint64_t{0}, most_ms = 0;
  /// By what the kernel says and the stack.
  std::map<std::pair<std::string, std::string>, std::vector<Rank>> stacks;
};

std::vector<Rank> sorted(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string these(const std::vector<Rank>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", job::ranges(ranks));
}

std::string time_text(std::uint64_t milliseconds) {
  return milliseconds < 1000 ? fmt::format("{} ms", milliseconds) : fmt::format("{} s", milliseconds / 1000);
}

std::string time_text(const Group& group) {
  const auto least = time_text(group.least_ms), most = time_text(group.most_ms);
  return least == most ? most : fmt::format("{} to {}", least, most);
}

/// What the place of these ranks is, without times.
std::string name_of(const Place& place) {
  switch (place.phase) {
    case Place::Phase::not_begun:
      return "not in PMIx_Init yet";
    case Place::Phase::finalized:
      return "behind PMIx_Finalize";
    case Place::Phase::gone:
      return "gone without PMIx_Finalize";
    case Place::Phase::connected:
      break;
  }
  if (!place.call.empty()) return on_one_line(place.call);
  return place.last.empty() ? "in no call of PMIx that its server knows of"
                            : fmt::format("in no call of PMIx that its server knows of; the last was {}",
                                          on_one_line(place.last));
}

/// A server that has looked for the first time knows no age.
std::string with_time(const std::string& name, const Group& group, bool is_in_call, bool has_last) {
  if (is_in_call && group.most_ms < 1000) return name;
  if (is_in_call) return fmt::format("{}, for at least {}", name, time_text(group));
  return has_last ? fmt::format("{}, {} ago", name, time_text(group)) : name;
}

/// "rank 0 (pid 17 on a), rank 1 (pid 18 on a), ..."
std::string members_of(const Group& group) {
  std::string out;
  for (std::size_t i = 0; i < std::min(group.members.size(), most_named); ++i) {
    const auto& [rank, pid, host] = group.members[i];
    out += fmt::format("{}rank {} (pid {} on {})", out.empty() ? "" : ", ", number(rank), pid, *host);
  }
  return group.members.size() > most_named ? out + ", ..." : out;
}

std::string indented(const std::string& lines) {
  std::string out = "\n      ";
  for (const char c : lines) {
    out += c;
    if (c == '\n') out += "      ";
  }
  return out;
}

std::string stacks_of(const Group& group) {
  std::string out;
  std::size_t count = 0, left_out = 0;
  for (const auto& [place, ranks] : group.stacks) {
    const auto& [kernel, stack] = place;
    if (kernel.empty() && stack.empty()) continue;
    if (++count > most_stacks) {
      left_out += ranks.size();
      continue;
    }
    out += fmt::format("\n    {}: {}{}", these(sorted(ranks)), kernel.empty() ? "stack" : kernel,
                       stack.empty() ? std::string() : indented(stack));
  }
  if (left_out != 0) out += fmt::format("\n    and {} ranks with other stacks", left_out);
  return out;
}

/// Its name, whether ranks are in a call and have had one, their program.
using Key = std::tuple<std::string, bool, bool, std::string>;

std::map<Key, Group> groups_of(const std::vector<PlacesOnNode>& nodes,
                               const std::function<std::string(Rank)>& program_of) {
  std::map<Key, Group> out;
  for (const auto& node : nodes) {
    if (!node.places) continue;
    for (const auto& place : node.places->ranks) {
      const bool is_in_call = !place.call.empty();
      auto& group = out[{name_of(place), is_in_call, !place.last.empty(), program_of(place.rank)}];
      group.members.push_back({place.rank, place.pid, &node.host});
      group.least_ms = std::min(group.least_ms, place.age_ms);
      group.most_ms = std::max(group.most_ms, place.age_ms);
      const auto stack = place.stack == 0 ? std::string() : node.places->stacks[place.stack - 1];
      group.stacks[{on_one_line(place.kernel), stack}].push_back(place.rank);
    }
  }
  for (auto& [key, group] : out)
    std::sort(group.members.begin(), group.members.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

/// Nodes without an answer, and why stacks are missing.
std::string remarks_on(const std::vector<PlacesOnNode>& nodes) {
  std::string out;
  std::map<std::string, std::vector<std::string>> remarks;
  for (const auto& node : nodes) {
    if (!node.places && !node.ranks.empty())
      out += fmt::format("\n  {} has not answered: nothing is known of {}", node.host, these(node.ranks));
    if (node.places && !node.places->remark.empty())
      remarks[on_one_line(node.places->remark)].push_back(node.host);
  }
  for (const auto& [remark, hosts] : remarks)
    out += fmt::format("\n  on {}{}: {}", hosts.front(),
                       hosts.size() == 1 ? ""
                                         : fmt::format(" and {} other node{}", hosts.size() - 1,
                                                       hosts.size() == 2 ? "" : "s"),
                       remark);
  return out;
}

}  // namespace

std::string where_ranks_are(const std::string& job, const std::vector<PlacesOnNode>& nodes,
                            const std::function<std::string(Rank)>& program_of) {
  const auto groups = groups_of(nodes, program_of);
  std::vector<const std::pair<const Key, Group>*> order;
  for (const auto& group : groups) order.push_back(&group);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.members.front().rank < b->second.members.front().rank;
  });
  std::size_t known = 0, left_out = 0;
  std::string out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [key, group] = *order[i];
    const auto& [name, is_in_call, has_last, program] = key;
    known += group.members.size();
    if (i >= most_groups) {
      left_out += group.members.size();
      continue;
    }
    std::vector<Rank> ranks;
    for (const auto& member : group.members) ranks.push_back(member.rank);
    out += fmt::format("\n  {} of {}: {}\n    {}{}", these(ranks), on_one_line(program),
                       with_time(name, group, is_in_call, has_last), members_of(group), stacks_of(group));
  }
  if (left_out != 0)
    out += fmt::format("\n  and {} ranks in {} other places", left_out, order.size() - most_groups);
  return fmt::format("where ranks are{}; {} {}:{}{}", job.empty() ? "" : " of " + job, known,
                     known == 1 ? "runs" : "run", out, remarks_on(nodes));
}

bool has_waited(const std::vector<PlacesOnNode>& nodes, std::chrono::milliseconds time) {
  const auto least = static_cast<std::uint64_t>(time.count());
  return std::any_of(nodes.begin(), nodes.end(), [&](const PlacesOnNode& node) {
    return node.places &&
           std::any_of(node.places->ranks.begin(), node.places->ranks.end(),
                       [&](const auto& place) { return !place.call.empty() && place.age_ms >= least; });
  });
}

}  // namespace weft::messages
