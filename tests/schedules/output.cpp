// SPDX-License-Identifier: BSD-3-Clause
// What has to be so of output that processes print and others pull.
#include <fmt/format.h>

#include <algorithm>

#include "tests/schedules/record.hpp"

namespace weft::schedules {
namespace {

class OutputCheck {
 public:
  OutputCheck(const Schedule& schedule, Record& record) : schedule_(schedule), record_(record) {}

  void all() {
    const auto& all = schedule_.operations;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].kind == Kind::pull)
        for (const auto rank : all[i].members) pulled(i, rank);
  }

 private:
  void violates(std::size_t pull, Rank rank, const std::string& what) {
    record_.violations.push_back(fmt::format("rank {} has by its pull {} {}", rank, pull, what));
  }

  /// Once each, in their order, none of another process; and what was printed when it was pulled already.
  void pulled(std::size_t pull, Rank rank) {
    const auto target = schedule_.operations[pull].target;
    const auto heard = record_.output.find({pull, rank});
    const auto came = heard == record_.output.end() ? std::vector<std::size_t>() : heard->second;
    for (std::size_t at = 0; at < came.size(); ++at) {
      const auto& print = schedule_.operations[came[at]];
      if (print.kind != Kind::print || print.members.front() != target)
        violates(pull, rank, fmt::format("what operation {} has not printed for it", came[at]));
      // A process prints in the order of its operations.
      if (at != 0 && came[at] <= came[at - 1])
        violates(pull, rank, fmt::format("print {} behind {}", came[at], came[at - 1]));
    }
    const auto& end = record_.ended[pull][rank];
    if (!end || end->status != PMIX_SUCCESS || !record_.is_left[rank] || schedule_.finalizes) return;
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
      const auto& print = schedule_.operations[i];
      const bool is_its = print.kind == Kind::print && print.members.front() == target &&
                          record_.ended[i][target].has_value() &&
                          record_.called[i][target] > record_.ended_at[pull][rank];
      if (is_its && std::find(came.begin(), came.end(), i) == came.end())
        violates(pull, rank, fmt::format("not what rank {} has printed by operation {}", target, i));
    }
  }

  const Schedule& schedule_;
  Record& record_;
};

}  // namespace

void check_output(const Schedule& schedule, Record& record) {
  OutputCheck(schedule, record).all();
}

}  // namespace weft::schedules
