// SPDX-License-Identifier: BSD-3-Clause
// Lives of jobs of four ranks on two nodes, from reports to orders.
#include "tools/jobs/job.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace weft::jobs {
namespace {

using job::Rank;

/// Orders in words: "detail ...", "result ... @3", "announce -1", "action 1", "end 1 2", "hold", "look".
struct InWords {
  std::string operator()(const Say& say) const {
    const char* const kinds[] = {"detail ", "result "};
    auto text = kinds[static_cast<int>(say.what)] + say.line;
    return say.about ? text + " @" + std::to_string(number(say.about->rank)) : text;
  }
  std::string operator()(const Announce& announce) const {
    return announce.code == PMIX_EVENT_JOB_START ? "announce start" : "announce that all run";
  }
  std::string operator()(const AnnounceHeld& order) const {
    return "held " + std::to_string(order.held.ranks) + " at " + order.held.breakpoint;
  }
  std::string operator()(Action action) const {
    const char* const names[] = {"nothing", "stop", "kill", "abandon", "drain", "finish", "finish undrained"};
    return names[static_cast<int>(action)];
  }
  std::string operator()(const EndRanks& end) const {
    std::string text = "end";
    for (const auto rank : end.ranks) text += " " + std::to_string(number(rank));
    return text;
  }
  std::string operator()(const Hold& hold) const { return hold.begins ? "hold" : "hold no more"; }
  std::string operator()(const LookForStrangers&) const { return "look for strangers"; }
};
/// Without those for --verbose.
std::vector<std::string> in_words(const Orders& orders) {
  std::vector<std::string> out;
  for (const auto& order : orders)
    if (auto text = std::visit(InWords(), order); text.rfind("detail", 0) != 0) out.push_back(text);
  return out;
}
using Words = std::vector<std::string>;

job::RankEnd exited(std::uint32_t rank, int status) {
  return {Rank{rank}, status << 8, true, true};
}
job::RankEnd killed(std::uint32_t rank) {
  return {Rank{rank}, SIGKILL, true, false};
}
/// In a call that needed the rank `after`.
job::RankEnd left(std::uint32_t rank, std::uint32_t after) {
  return {Rank{rank}, 1 << 8, true, false, Rank{after}};
}

class JobTest : public ::testing::Test {
 protected:
  Job make(bool goes_on = false) { return Job({{"a", "b"}, {"program"}, goes_on}, table); }
  /// One that runs on both nodes.
  Job running(bool goes_on = false) {
    auto job = make(goes_on);
    job.launched();
    job.started({0, {10, 11}});
    job.started({1, {12, 13}});
    EXPECT_EQ(job.state(), State::running);
    return job;
  }
  /// All ranks that run end as told to, and each node has none any more.
  static Words end_of(Job& job) {
    for (const auto rank : job.ranks().running()) job.rank_ended(exited(number(rank), 0));
    job.node_settled();
    return in_words(job.node_settled());
  }

  placement::RankTable table{{{{placement::RankBy::slot, 0, {2, 2}}}, 2}};
};

TEST_F(JobTest, ends_well) {
  auto job = make();
  job.launched();
  EXPECT_EQ(in_words(job.started({0, {10, 11}})), Words{"announce start"});
  EXPECT_EQ(job.state(), State::starting);
  EXPECT_FALSE(job.all_run());
  EXPECT_EQ(in_words(job.started({1, {12, 13}})), Words{"announce that all run"});
  EXPECT_TRUE(job.all_run());
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(in_words(job.rank_ended(exited(rank, 0))).empty());
  EXPECT_TRUE(in_words(job.node_settled()).empty());
  EXPECT_EQ(in_words(job.node_settled()), Words{"drain"});
  EXPECT_EQ(job.take_summary(), "");
  EXPECT_EQ(in_words(job.raise(Event::output_done)), Words{"finish"});
  EXPECT_EQ(job.exit_code(), 0);
  EXPECT_EQ(job.ending().status, 0);
}

TEST_F(JobTest, tells_once_that_all_ranks_have_stopped) {
  using job::StopPoint;
  Job::Plan plan{{"a", "b"}, {"program"}};
  plan.stops.emplace_back().at(StopPoint::init).all = true;
  Job job(plan, table);
  job.launched();
  job.started({0, {10, 11}});
  EXPECT_TRUE(in_words(job.node_held(0, {StopPoint::init, "x", 2})).empty());
  EXPECT_TRUE(in_words(job.node_held(0, {StopPoint::init, "x", 2})).empty());
  EXPECT_TRUE(in_words(job.node_held(1, {StopPoint::app, "x", 2})).empty());
  job.started({1, {12, 13}});
  EXPECT_EQ(in_words(job.node_held(1, {StopPoint::init, "x", 2})), Words{"held 4 at x"});
  EXPECT_EQ(end_of(job), Words{"drain"});
}

TEST_F(JobTest, does_not_wait_for_ranks_of_a_lost_node_to_stop) {
  using job::StopPoint;
  Job::Plan plan{{"a", "b"}, {"program"}, true};
  plan.stops.emplace_back().at(StopPoint::app).named = {Rank{0}, Rank{3}};
  Job job(plan, table);
  job.launched();
  job.started({0, {10, 11}});
  job.started({1, {12, 13}});
  job.node_held(0, {StopPoint::app, "x", 1});
  const auto orders = in_words(job.node_lost(1, "node b is lost"));
  EXPECT_EQ(orders, (Words{"result node b is lost", "held 1 at x"}));
}

TEST_F(JobTest, of_a_job_that_ends_no_debugger_hears_that_it_is_ready) {
  using job::StopPoint;
  Job::Plan plan{{"a", "b"}, {"program"}};
  plan.stops.emplace_back().at(StopPoint::init).all = true;
  Job job(plan, table);
  job.launched();
  job.started({0, {10, 11}});
  job.started({1, {12, 13}});
  job.node_held(0, {StopPoint::init, "x", 2});
  job.rank_ended(killed(2));
  EXPECT_TRUE(in_words(job.node_held(1, {StopPoint::init, "x", 1})).empty());
}

TEST_F(JobTest, a_rank_that_cannot_be_started_ends_it) {
  auto job = make();
  job.launched();
  EXPECT_EQ(in_words(job.started({0, {10}, 127, "no such program"})),
            (Words{"announce start", "result no such program", "kill"}));
  EXPECT_EQ(job.exit_code(), 127);
  EXPECT_EQ(job.ending().status, PMIX_ERR_JOB_FAILED_TO_LAUNCH);
  // The other node may have started its own by then.
  job.started({1, {12, 13}});
  EXPECT_EQ(job.state(), State::killing);
  EXPECT_EQ(end_of(job), Words{"drain"}) << "what is known of strangers is of ranks that all have run";
}

TEST_F(JobTest, the_first_rank_that_fails_is_the_reason) {
  auto job = running();
  const auto orders = in_words(job.rank_ended(killed(3)));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_NE(orders[0].find("result rank 3 on b (pid 13, program) was killed by signal 9"), std::string::npos)
      << orders[0];
  EXPECT_NE(orders[0].find("@3"), std::string::npos) << "after what it has written";
  EXPECT_EQ(orders[1], "stop");
  EXPECT_TRUE(in_words(job.rank_ended(exited(0, 1))).empty()) << "was told to end";
  EXPECT_EQ(job.exit_code(), 128 + SIGKILL);
  EXPECT_EQ(job.ending().failed, Rank{3});
  EXPECT_EQ(job.ending().status, PMIX_ERR_JOB_ABORTED_BY_SIG);
  EXPECT_EQ(end_of(job), Words{"drain"});
}

/// Its own node tells of it later than the others of what follows from it.
TEST_F(JobTest, ranks_that_leave_for_the_loss_of_one_are_not_taken_for_the_reason) {
  auto job = running();
  EXPECT_EQ(in_words(job.rank_ended(left(0, 3))), Words{"hold"});
  EXPECT_TRUE(in_words(job.rank_ended(left(1, 3))).empty());
  const auto orders = in_words(job.rank_ended(killed(3)));
  ASSERT_GE(orders.size(), 2u);
  EXPECT_NE(orders[0].find("rank 3"), std::string::npos);
  EXPECT_EQ(orders[1], "stop");
  EXPECT_EQ(orders.back(), "hold no more");
  EXPECT_EQ(job.exit_code(), 128 + SIGKILL);
}

TEST_F(JobTest, a_rank_that_lives_on_without_its_connection_is_waited_for_once) {
  auto job = running();
  job.rank_ended(left(0, 3));
  const auto orders = in_words(job.hold_over());
  ASSERT_EQ(orders.size(), 3u);
  EXPECT_NE(orders[1].find("result rank 0"), std::string::npos);
  EXPECT_EQ(orders[2], "stop");
  EXPECT_EQ(job.exit_code(), 1);
  EXPECT_TRUE(in_words(job.rank_ended(left(1, 3))).empty()) << "not held any more, and no reason";
}

TEST_F(JobTest, a_lost_node_ends_it_or_not) {
  auto job = running();
  EXPECT_EQ(in_words(job.node_lost(1, "node b is lost")), (Words{"result node b is lost", "stop"}));
  EXPECT_EQ(job.exit_code(), 125);
  EXPECT_EQ(job.ranks().running(), (std::vector<Rank>{Rank{0}, Rank{1}}));

  auto goes_on = running(true);
  EXPECT_EQ(in_words(goes_on.node_lost(1, "node b is lost")), Words{"result node b is lost"});
  EXPECT_EQ(goes_on.state(), State::running);
  EXPECT_EQ(end_of(goes_on), Words{"drain"});
  EXPECT_NE(goes_on.take_summary().find("node b"), std::string::npos);
  EXPECT_EQ(goes_on.take_summary(), "") << "once";
  EXPECT_EQ(goes_on.exit_code(), 125);
}

TEST_F(JobTest, before_it_is_launched_nothing_goes_on_without_a_node) {
  auto job = make(true);
  EXPECT_EQ(in_words(job.node_lost(1, "node b is lost")), (Words{"result node b is lost", "stop"}));
}

TEST_F(JobTest, an_abort_of_some_ranks_ends_these) {
  auto job = running();
  const auto orders = in_words(job.aborted({Rank{0}, 7, "enough", {Rank{2}, Rank{3}}}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_NE(orders[0].find("enough"), std::string::npos);
  EXPECT_EQ(orders[1], "end 2 3");
  EXPECT_TRUE(in_words(job.rank_ended(killed(2))).empty()) << "is expected";
  EXPECT_EQ(job.state(), State::running);
  EXPECT_EQ(end_of(job), Words{"drain"});
  EXPECT_EQ(job.exit_code(), 7);
}

TEST_F(JobTest, a_line_about_a_rank_names_the_file_of_its_standard_error) {
  for (const bool merges : {false, true}) {
    Job job({{"a", "b"}, {"program"}, false, "dir", merges}, table);
    const auto orders = in_words(job.rank_ended({Rank{3}, 1 << 8, true, true}));
    ASSERT_EQ(orders.size(), 2u);
    EXPECT_NE(orders[0].find(merges ? "see dir/rank.3.out" : "see dir/rank.3.err"), std::string::npos)
        << orders[0];
  }
}

TEST_F(JobTest, an_abort_of_all_is_the_reason) {
  auto job = running();
  const auto orders = in_words(job.aborted({Rank{0}, 256, "enough", {}}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[1], "stop");
  EXPECT_EQ(job.exit_code(), 1) << "an exit status has eight bits, and this one is not 0";
  EXPECT_EQ(job.ending().status, PMIX_ERR_JOB_ABORTED);
}

TEST_F(JobTest, ranks_that_never_connected_are_told_of_when_one_that_had_fails) {
  auto job = running();
  EXPECT_TRUE(in_words(job.rank_ended({Rank{1}, 0})).empty()) << "may be a program without PMIx";
  const auto orders = in_words(job.rank_ended(killed(0)));
  ASSERT_EQ(orders.size(), 3u);
  EXPECT_NE(orders[2].find("rank 1"), std::string::npos) << orders[2];
}

TEST_F(JobTest, where_no_rank_has_connected_the_reason_is_looked_for) {
  auto job = running();
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.rank_ended({Rank{rank}, 0});
  job.node_settled();
  EXPECT_EQ(in_words(job.node_settled()), (Words{"look for strangers", "drain"}));
  EXPECT_FALSE(job.has_connected());
}

TEST_F(JobTest, one_that_had_connected_and_has_left_without_finalize_has_failed) {
  auto job = running();
  job.rank_ended({Rank{2}, 0});
  const auto orders = in_words(job.connected_late(Rank{2}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[1], "stop");
  EXPECT_EQ(job.exit_code(), 1);
  EXPECT_EQ(job.ending().status, PMIX_ERR_JOB_TERM_WO_SYNC);
}

TEST_F(JobTest, signals_end_what_does_not_obey_and_it_has_not_ended_well_then) {
  auto job = running();
  const auto signal = [&] { return in_words(job.raise(Event::end_signal, {{130, "interrupted"}})); };
  EXPECT_EQ(signal(), (Words{"result interrupted", "stop"}));
  EXPECT_EQ(signal(), Words{"kill"});
  EXPECT_EQ(job.exit_code(), 130);
  EXPECT_EQ(signal(), Words{"abandon"});
  EXPECT_EQ(job.exit_code(), 125) << "a part of it runs on";
}

}  // namespace
}  // namespace weft::jobs
