// SPDX-License-Identifier: BSD-3-Clause
// Every row of what a Get does after a miss, and the facts that the segment tells.
#include "core/store/get/get_decision.hpp"

#include <array>
#include <functional>

#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

using enum GetStep;
using About = GetFacts::About;
using LastLookup = GetFacts::Lookup;
using Where = GetFacts::Where;

/// A client that sees the segment misses the key of a rank of its own node.
GetFacts here(bool committed) {
  GetFacts facts;
  facts.can_ask = true;
  facts.where = Where::here;
  facts.committed = committed;
  return facts;
}
/// The same of a rank of another node, whose node has been asked or not.
GetFacts elsewhere(bool committed, bool asked) {
  auto facts = here(committed);
  facts.where = Where::elsewhere;
  facts.asked = asked;
  return facts;
}
GetFacts operator|(GetFacts facts, bool GetFacts::*flag) {
  facts.*flag = true;
  return facts;
}
GetFacts operator-(GetFacts facts, bool GetFacts::*flag) {
  facts.*flag = false;
  return facts;
}
GetFacts operator|(GetFacts facts, LastLookup lookup) {
  facts.lookup = lookup;
  return facts;
}
GetFacts operator|(GetFacts facts, About about) {
  facts.about = about;
  return facts;
}
GetFacts operator|(GetFacts facts, Where where) {
  facts.where = where;
  return facts;
}

constexpr auto own = &GetFacts::own, reserved = &GetFacts::reserved, afar = &GetFacts::kept_afar,
               optional = &GetFacts::optional, immediate = &GetFacts::immediate, refresh = &GetFacts::refresh,
               timeout = &GetFacts::has_timeout, sees = &GetFacts::sees_jobs, can_ask = &GetFacts::can_ask,
               waits = &GetFacts::waits_for_keys, late = &GetFacts::late, exchanged = &GetFacts::exchanged,
               ended = &GetFacts::ended, scoped = &GetFacts::names_scope;

struct Row {
  const char* what;
  GetFacts facts;
  GetStep step;
};

const std::vector<Row>& rows() {
  const auto nowhere = here(false) | Where::unknown_job;
  const auto job_level = here(false) | About::job_level;
  const auto any_rank = here(false) | About::any_rank;
  const auto blind = nowhere - sees;
  static const std::vector<Row> all{
      {"found", here(true) | LastLookup::hit, value},
      {"found, of another node", elsewhere(true, false) | LastLookup::hit, value},
      {"found when it was late already", here(true) | LastLookup::hit | late | timeout, value},
      {"found, although its rank has ended", here(true) | LastLookup::hit | ended, value},
      {"found, with everything else against it", here(true) | LastLookup::hit | optional | immediate | own,
       value},
      {"hidden by its scope", here(true) | LastLookup::hidden, not_found},
      {"hidden, with a deadline", here(true) | LastLookup::hidden | timeout, not_found},
      {"hidden by the scope that the caller named", here(true) | LastLookup::hidden | scoped, outside_scope},

      {"refreshed: the node of the rank goes before what is found",
       elsewhere(true, false) | LastLookup::hit | refresh, ask},
      {"refreshed, and only if it is known", elsewhere(true, false) | LastLookup::hit | refresh | optional,
       ask},
      {"refreshed, and asked", elsewhere(true, true) | LastLookup::hit | refresh, value},
      {"refreshed, of this node: it is read where it is written", here(true) | LastLookup::hit | refresh,
       value},
      {"refreshed, a key that no rank puts", elsewhere(true, false) | LastLookup::hit | refresh | reserved,
       value},
      {"refreshed, and there is no server", (elsewhere(true, false) | LastLookup::hit | refresh) - can_ask,
       value},
      {"refreshed, and missing all the same", elsewhere(true, true) | refresh, not_found},
      {"refreshed, missing, with a deadline", elsewhere(true, true) | refresh | timeout, wait_for_key},
      {"refreshed, missing, only if it is known", elsewhere(true, true) | refresh | optional, not_found},
      {"refreshed, of this node, missing", here(true) | refresh, not_found},

      {"its own", here(true) | own, not_found},
      {"its own, with a deadline", here(true) | own | timeout, not_found},
      {"its own, without the segment", blind | own, not_found},
      {"its own reserved key, without the segment", blind | own | reserved, ask},

      {"without the segment", blind, ask},
      {"without the segment, only if it is known: the server knows", blind | optional, ask},
      {"without the segment, at once", blind | immediate, ask},
      {"alone", blind - can_ask, not_found},

      {"only if it is known", here(false) | optional, not_found},
      {"only if it is known, elsewhere", elsewhere(false, false) | optional, not_found},
      {"only if it is known, of a dead rank", here(false) | optional | ended, not_found},
      {"only if it is known, with a deadline", here(false) | optional | timeout, not_found},

      {"of a job that is not known", nowhere, ask},
      {"of a job that is not known, in the server", nowhere - can_ask, not_found},
      {"of a job that is not known, only if it is", nowhere | optional, not_found},

      {"job level", job_level, not_found},
      {"job level, with a deadline", job_level | timeout, wait_for_key},
      {"job level, late", job_level | timeout | late, timed_out},
      {"job level, at once", job_level | immediate | timeout, not_found},
      {"of any rank", any_rank, wait_for_key},
      {"of any rank, at once", any_rank | immediate, not_found},
      {"of any rank, where no key is waited for", any_rank - waits, not_found},
      {"of any rank, and the wait is over", any_rank | late, not_found},
      {"of any rank, a key that no rank puts", any_rank | reserved, not_found},
      {"of any rank, with a deadline", any_rank | timeout, wait_for_key},
      {"of any rank, late", any_rank | timeout | late, timed_out},

      {"a rank that the job has not", here(false) | Where::no_such_rank, not_found},
      {"a rank that the job has not, with a deadline", here(false) | Where::no_such_rank | timeout,
       not_found},
      {"reserved", here(false) | reserved, not_found},
      {"reserved, with a deadline", here(false) | reserved | timeout, not_found},
      {"reserved, elsewhere", elsewhere(false, false) | reserved, not_found},
      {"reserved, of a dead rank", here(false) | reserved | ended, not_found},
      {"kept afar", elsewhere(false, false) | reserved | afar, ask},
      {"kept afar, of a node", job_level | reserved | afar, ask},
      {"kept afar, and asked", elsewhere(false, true) | reserved | afar, not_found},
      {"kept afar, only if it is known", elsewhere(false, false) | reserved | afar | optional, not_found},
      {"kept afar, at once", elsewhere(false, false) | reserved | afar | immediate, not_found},
      {"kept afar, and there is no server", (elsewhere(false, false) | reserved | afar) - can_ask, not_found},

      {"here, no commit", here(false), wait_for_commit},
      {"here, no commit, with a deadline", here(false) | timeout, wait_for_commit},
      {"here, no commit, late", here(false) | timeout | late, timed_out},
      {"here, no commit, at once", here(false) | immediate, not_found},
      {"here, no commit, at once, with a deadline", here(false) | immediate | timeout, not_found},
      {"here, no commit, keys are not waited for", here(false) - waits, wait_for_commit},
      {"here, no commit, dead", here(false) | ended, unreachable},
      {"here, no commit, dead, at once", here(false) | ended | immediate, unreachable},
      {"here, no commit, dead, with a deadline", here(false) | ended | timeout, unreachable},
      {"here, no commit, dead, late", here(false) | ended | timeout | late, unreachable},

      {"here, committed", here(true), wait_for_key},
      {"here, committed, waited for as long as KeyWait says", here(true) | late, not_found},
      {"here, committed, keys are not waited for", here(true) - waits, not_found},
      {"here, committed, with a deadline", here(true) | timeout, wait_for_key},
      {"here, committed, with a deadline, keys are not waited for", (here(true) | timeout) - waits,
       wait_for_key},
      {"here, committed, late", here(true) | timeout | late, timed_out},
      {"here, committed, at once", here(true) | immediate, not_found},
      {"here, committed, dead", here(true) | ended, not_found},
      {"here, committed, dead, with a deadline", here(true) | ended | timeout, not_found},

      {"elsewhere, nothing known", elsewhere(false, false), ask},
      {"elsewhere, at once: asked once", elsewhere(false, false) | immediate, ask},
      {"elsewhere, with a deadline", elsewhere(false, false) | timeout, ask},
      {"elsewhere, some known: there may be more", elsewhere(true, false), ask},
      {"elsewhere, known from a full fence: there may be more", elsewhere(true, false) | exchanged, ask},
      {"elsewhere, with a deadline, late before its node has replied",
       elsewhere(false, false) | timeout | late, timed_out},
      {"elsewhere, refreshed, late before its node has replied",
       elsewhere(true, false) | refresh | timeout | late, timed_out},
      {"elsewhere, no server to ask", elsewhere(true, false) - can_ask, not_found},

      {"elsewhere, asked, no commit", elsewhere(false, true), wait_for_commit},
      {"elsewhere, asked, no commit, with a deadline", elsewhere(false, true) | timeout, wait_for_commit},
      {"elsewhere, asked, no commit, late", elsewhere(false, true) | timeout | late, timed_out},
      {"elsewhere, asked, no commit, at once", elsewhere(false, true) | immediate, not_found},
      {"elsewhere, asked, no commit, dead", elsewhere(false, true) | ended, unreachable},
      {"elsewhere, asked, no commit, dead, at once", elsewhere(false, true) | ended | immediate, unreachable},

      {"elsewhere, asked, committed", elsewhere(true, true), wait_for_key},
      {"elsewhere, asked, committed, waited for", elsewhere(true, true) | late, not_found},
      {"elsewhere, asked, committed, keys are not waited for", elsewhere(true, true) - waits, not_found},
      {"elsewhere, asked, committed, with a deadline", elsewhere(true, true) | timeout, wait_for_key},
      {"elsewhere, asked, committed, late", elsewhere(true, true) | timeout | late, timed_out},
      {"elsewhere, asked, committed, at once", elsewhere(true, true) | immediate, not_found},
      {"elsewhere, asked, committed, dead", elsewhere(true, true) | ended, not_found},
      {"elsewhere, asked, from a full fence", elsewhere(true, true) | exchanged, not_found},
      {"elsewhere, asked, from a full fence, with a deadline", elsewhere(true, true) | exchanged | timeout,
       wait_for_key},
      {"elsewhere, asked, from a full fence, late", elsewhere(true, true) | exchanged | timeout | late,
       timed_out},
  };
  return all;
}

TEST(GetDecision, every_row) {
  for (const auto& row : rows()) EXPECT_EQ(decide_get(row.facts), row.step) << row.what;
}

/// Over all combinations of facts: what no row may say.
TEST(GetDecision, no_combination_breaks_a_promise) {
  constexpr std::array flags{
      own,     reserved, optional, immediate, refresh, timeout,          sees,
      can_ask, waits,    late,     exchanged, ended,   &GetFacts::asked, &GetFacts::committed};
  std::size_t seen = 0;
  for (std::uint32_t bits = 0; bits < 1u << flags.size(); ++bits)
    for (const auto where : {Where::unknown_job, Where::no_such_rank, Where::here, Where::elsewhere})
      for (const auto about : {About::rank, About::job_level, About::any_rank})
        for (const auto lookup : {LastLookup::miss, LastLookup::hit, LastLookup::hidden}) {
          GetFacts facts;
          for (std::size_t i = 0; i < flags.size(); ++i) facts.*flags[i] = (bits >> i & 1) != 0;
          facts.where = where;
          facts.about = about;
          facts.lookup = lookup;
          const auto step = decide_get(facts);
          const bool goes_on = step == ask || step == wait_for_commit || step == wait_for_key;
          const bool is_wait = goes_on && step != ask;
          ++seen;
          ASSERT_EQ(step == value,
                    lookup == LastLookup::hit && step != ask);  // a hit is delivered, or refreshed
          ASSERT_TRUE(step != ask || facts.can_ask);
          ASSERT_FALSE(is_wait && (facts.immediate || facts.late || facts.optional));
          ASSERT_TRUE(step != timed_out || (facts.late && facts.has_timeout));
          // The caller, or KeyWait, bounds a wait for a key.
          ASSERT_TRUE(step != wait_for_key || facts.has_timeout || facts.waits_for_keys);
          // A deadline ends every Get of a process that sees the job.
          ASSERT_FALSE(goes_on && facts.late && facts.sees_jobs && where != Where::unknown_job);
        }
  EXPECT_EQ(seen, (std::size_t{1} << flags.size()) * 4 * 3 * 3);
}

TEST(GetDecision, each_end_has_its_status) {
  const std::vector<std::pair<GetStep, pmix_status_t>> ends{{value, PMIX_SUCCESS},
                                                            {not_found, PMIX_ERR_NOT_FOUND},
                                                            {outside_scope, PMIX_ERR_EXISTS_OUTSIDE_SCOPE},
                                                            {unreachable, PMIX_ERR_UNREACH},
                                                            {timed_out, PMIX_ERR_TIMEOUT}};
  for (const auto& [step, status] : ends) {
    EXPECT_TRUE(is_end(step));
    EXPECT_EQ(status_of(step), status);
  }
  for (const auto step : {ask, wait_for_commit, wait_for_key}) EXPECT_FALSE(is_end(step));
}

// ---- facts

struct Facts : ::testing::Test {
  void remote(std::uint32_t rank, const char* text) {
    data::Writer encoded;
    ASSERT_TRUE(data::encode_value(encoded, Value::of(text).get()));
    const CardRecord record{PMIX_GLOBAL, "key", encoded.view()};
    const auto from = view.cards().remote_known(rank);
    ASSERT_TRUE(job.add_card({"job", rank, from, from + 8, {&record, 1}}));
  }
  GetFacts of(std::uint32_t rank, std::string_view key = "none", const GetDirectives& how = {}) const {
    return facts_of(view, rank, key, how);
  }
  Node node;
  JobWriter job = std::move(*node.add(two_node_job()));
  const JobView& view = job.view();
};

TEST_F(Facts, of_ranks_of_both_nodes) {
  EXPECT_EQ(of(2).where, Where::here);
  EXPECT_EQ(of(3).where, Where::elsewhere);
  EXPECT_EQ(of(6).where, Where::no_such_rank);
  EXPECT_FALSE(of(2).committed);
  EXPECT_FALSE(of(3).committed);
  ASSERT_TRUE(put(view, 2, "key", Value::of("v")));
  remote(3, "v");
  EXPECT_TRUE(of(2).committed);
  EXPECT_TRUE(of(3).committed);
  EXPECT_FALSE(of(2).ended);
  for (const auto state : {Local::gone, Local::finalized}) {
    view.local(view.local_index(2)).state = state;
    EXPECT_TRUE(of(2).ended);
  }
}

TEST_F(Facts, a_full_fence_covers_what_it_brought_and_no_more) {
  remote(3, "before");
  EXPECT_FALSE(of(3).exchanged);
  job.mark_exchanged();
  EXPECT_TRUE(of(3).exchanged);
  EXPECT_FALSE(of(1).exchanged);  // it has committed nothing
  remote(1, "fetched since");
  EXPECT_TRUE(of(3).exchanged);
  EXPECT_FALSE(of(1).exchanged);
  remote(3, "fetched since");
  EXPECT_FALSE(of(3).exchanged);
  job.mark_exchanged();
  EXPECT_TRUE(of(3).exchanged);
  EXPECT_TRUE(of(1).exchanged);
}

TEST_F(Facts, of_the_request) {
  GetDirectives how;
  EXPECT_EQ(of(2).about, About::rank);
  EXPECT_EQ(of(PMIX_RANK_WILDCARD).about, About::job_level);
  EXPECT_EQ(of(PMIX_RANK_UNDEF).about, About::any_rank);
  EXPECT_TRUE(of(2, "pmix.key").reserved);
  EXPECT_FALSE(of(2, "key").reserved);
  EXPECT_TRUE(of(2, "").optional);  // everything that is known
  how.timeout = std::chrono::seconds(1);
  EXPECT_TRUE(of(2, "key", how).has_timeout);
  how.realm = Realm::node;
  EXPECT_EQ(of(2, "key", how).about, About::job_level);
  how.optional = how.immediate = how.refresh = true;
  const auto facts = facts_of(2, "key", how);
  EXPECT_TRUE(facts.optional && facts.immediate && facts.refresh);
  EXPECT_EQ(facts.where, Where::unknown_job);
}

}  // namespace
}  // namespace weft::store
