// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/handlers/decisions.hpp"

#include <gtest/gtest.h>

#include "core/data/types/array.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

using Kind = Decision::Kind;
using Votes = std::vector<Questions::Vote>;

link::GroupVerdict heard(pmix_status_t status = PMIX_SUCCESS) {
  return {0, link::GroupVerdict::By::handlers, status, {}};
}
link::GroupVerdict unheard(pmix_status_t status = PMIX_SUCCESS) {
  return {0, link::GroupVerdict::By::no_handler, status, {}};
}
link::GroupVerdict leads() {
  auto out = heard();
  out.results.add(PMIX_GROUP_LEADER, data::Value::of(true));
  return out;
}
Questions::Vote of(std::uint32_t rank, link::GroupVerdict verdict) {
  return {link::make_proc("job", rank), std::move(verdict)};
}

TEST(Decisions, of_a_leader) {
  EXPECT_EQ(decision_of(link::GroupVerdict{}).kind, Kind::gone);
  EXPECT_EQ(decision_of(unheard()).kind, Kind::unheard);
  EXPECT_EQ(decision_of(heard()).kind, Kind::left_out);
  EXPECT_EQ(decision_of(heard(PMIX_ERROR)).kind, Kind::left_out);
  EXPECT_EQ(decision_of(heard(PMIX_GROUP_CONSTRUCT_ABORT)).kind, Kind::aborted);
}

TEST(Decisions, replacements_come_as_an_array_of_processes) {
  const auto proc = link::make_proc("job", 5);
  auto verdict = heard();
  verdict.results.add(PMIX_GROUP_ADD_MEMBERS, *data::value_of_array(PMIX_PROC, &proc, 1));
  const auto decision = decision_of(verdict);
  EXPECT_EQ(decision.kind, Kind::replaced);
  ASSERT_EQ(decision.replacements.size(), 1U);
  EXPECT_TRUE(link::is_same(decision.replacements[0], proc));
  auto of_another_type = heard();
  of_another_type.results.add(PMIX_GROUP_ADD_MEMBERS, data::Value::of("job:5"));
  EXPECT_EQ(decision_of(of_another_type).kind, Kind::left_out);
  auto none = heard();
  none.results.add(PMIX_GROUP_ADD_MEMBERS, *data::value_of_array<pmix_proc_t>(PMIX_PROC, nullptr, 0));
  EXPECT_EQ(decision_of(none).kind, Kind::left_out);
}

TEST(Decisions, of_several_leaders) {
  const auto together = [](link::GroupVerdict a, link::GroupVerdict b) {
    Votes votes;
    votes.push_back(of(0, std::move(a)));
    votes.push_back(of(1, std::move(b)));
    return decision_of(votes).kind;
  };
  EXPECT_EQ(decision_of(Votes{}).kind, Kind::gone);
  EXPECT_EQ(together({}, {}), Kind::gone);
  EXPECT_EQ(together({}, unheard()), Kind::unheard);
  EXPECT_EQ(together(heard(), unheard()), Kind::left_out);
  EXPECT_EQ(together(heard(PMIX_GROUP_CONSTRUCT_ABORT), heard()), Kind::aborted);
}

TEST(Decisions, of_an_election) {
  Votes votes;
  EXPECT_TRUE(election_of(votes).leaders.empty());
  votes.push_back(of(0, unheard()));
  votes.push_back(of(1, leads()));
  votes.push_back(of(2, heard()));
  votes.push_back(of(3, leads()));
  const auto election = election_of(votes);
  EXPECT_FALSE(election.is_aborted);
  EXPECT_TRUE(is_same(election.leaders, Procs{link::make_proc("job", 1), link::make_proc("job", 3)}));
  votes.push_back(of(4, heard(PMIX_GROUP_CONSTRUCT_ABORT)));
  EXPECT_TRUE(election_of(votes).is_aborted);
}

TEST(Decisions, of_an_approval) {
  Votes votes;
  EXPECT_EQ(approval_of(votes), PMIX_SUCCESS);
  votes.push_back(of(0, {}));
  votes.push_back(of(1, unheard()));
  votes.push_back(of(2, heard()));
  EXPECT_EQ(approval_of(votes), PMIX_SUCCESS);
  Votes of_users;  // a member without a handler is another user's than the process that asks
  of_users.push_back(of(0, heard()));
  of_users.push_back(of(1, unheard(PMIX_ERR_NO_PERMISSIONS)));
  EXPECT_EQ(approval_of(of_users), PMIX_ERR_NO_PERMISSIONS);
  votes.push_back(of(3, heard(PMIX_ERR_NO_PERMISSIONS)));
  votes.push_back(of(4, heard(PMIX_ERROR)));
  EXPECT_EQ(approval_of(votes), PMIX_ERR_NO_PERMISSIONS);
}

}  // namespace
}  // namespace weft::server
