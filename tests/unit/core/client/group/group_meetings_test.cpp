// SPDX-License-Identifier: BSD-3-Clause
// GroupMeetings: two members of a job at a board of groups, in one process; the test plays the server.
#include "core/client/group/group_meetings.hpp"

#include <thread>

#include "tests/unit/core/client/members.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::client {
namespace {

using store::GroupAct;
using Procs = std::vector<pmix_proc_t>;

constexpr pmix_status_t by_message = PMIX_ERR_RESOURCE_BUSY;

data::Infos with(const char* key, data::Value value) {
  data::Infos out;
  out.add(key, std::move(value));
  return out;
}

TEST(GroupTag, is_of_the_operation_and_the_name) {
  EXPECT_EQ(store::tag_of(GroupAct::made, "name"), store::tag_of(GroupAct::made, "name"));
  EXPECT_NE(store::tag_of(GroupAct::made, "name"), store::tag_of(GroupAct::ended, "name"));
  EXPECT_NE(store::tag_of(GroupAct::made, "name"), store::tag_of(GroupAct::made, "names"));
  EXPECT_NE(store::tag_of(GroupAct::made, ""), 0u);
}

struct Member {
  Member(const store::Node& node, const store::JobView& job, std::uint32_t rank)
      : windows(shm::SegmentWindows::map(shm::Fd(::dup(node.segment.server.fd())),
                                         shm::Fd(::dup(job.header().clients_fd)))
                    .value()),
        meetings(link::make_proc("job", rank), wired.connection) {
    meetings.attach({&windows, job, &wired.control});
  }
  Wired wired;
  shm::SegmentWindows windows;
  GroupMeetings meetings;
};

struct GroupMeetingsTest : ::testing::Test {
  GroupMeetingsTest() {
    number = pool.take(job.view(), 2, false).value();
    ledger().set_read(board().open_generation() - 1);
    const link::RankRuns runs{{"job", 1, 1}, {"job", 0, 0}};  // rank 1 comes first
    const link::GroupMembers offer{.runs = runs,
                                   .board = number,
                                   .incarnation = pool.incarnation(number),
                                   .next = board().open_generation(),
                                   .cells = runs};
    for (auto* member : {&zero, &one}) member->meetings.take_seat(array, offer);
  }
  store::ServerBoard& board() { return pool.at(number); }
  store::GroupLedger& ledger() { return store::ledger_of(board()); }
  GroupMeetings::Outcome make(Member& member, const char* name, const data::Infos& infos = {}) {
    return member.meetings.construct(name, array, infos, members);
  }
  /// Both members construct at once, each under the name given for it.
  std::pair<GroupMeetings::Outcome, GroupMeetings::Outcome> make(const char* of_zero, const char* of_one) {
    GroupMeetings::Outcome a;
    link::RankRuns made;
    std::thread other([&] { a = zero.meetings.construct(of_zero, array, {}, made); });
    const auto b = make(one, of_one);
    other.join();
    return {a, b};
  }

  testing::Watchdog watchdog;
  store::Node node;
  store::JobWriter job{node.add(store::flat_job("job", 2, 2)).value()};
  store::BoardPool pool{node.segment, store::PoolPart::groups};
  store::BoardNumber number;
  Member zero{node, job.view(), 0}, one{node, job.view(), 1};
  const Procs array{link::make_proc("job", PMIX_RANK_WILDCARD)};
  link::RankRuns members;
};

TEST_F(GroupMeetingsTest, a_group_is_made_and_ended_without_a_message) {
  for (int round = 0; round < 20; ++round) {
    const auto [a, b] = make("name", "name");
    EXPECT_TRUE(a.has_ended && b.has_ended);
    EXPECT_EQ(members, (link::RankRuns{{"job", 1, 1}, {"job", 0, 0}}));
    GroupMeetings::Outcome ended;
    std::thread other([&] { ended = zero.meetings.destruct("name", members, {}); });
    EXPECT_TRUE(one.meetings.destruct("name", members, {}).has_ended);
    other.join();
    EXPECT_TRUE(ended.has_ended);
  }
  EXPECT_EQ(ledger().read(board().open_generation() - 1)->act, GroupAct::ended);
  EXPECT_EQ(ledger().read(board().open_generation() - 2)->name, "name");
  EXPECT_FALSE(zero.wired.connection.has_started());
  const auto notices = one.wired.notices();  // rank 1 has the first cell, and half of the ledger waits
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].kind, static_cast<std::uint32_t>(store::NoticeKind::group_records));
  EXPECT_EQ(notices[0].arg, number);
}

TEST_F(GroupMeetingsTest, other_names_become_messages) {
  std::thread server([&] {
    while (board().arrived_count() != 2) std::this_thread::yield();
    (void)board().dissolve(by_message);
  });
  const auto [a, b] = make("name", "another");
  server.join();
  EXPECT_FALSE(a.has_ended || b.has_ended);
  EXPECT_FALSE(make(zero, "name").has_ended);  // its seat is gone: at once
  EXPECT_TRUE(pool.give_back(number));
}

TEST_F(GroupMeetingsTest, a_ledger_that_the_server_does_not_read_makes_messages) {
  for (unsigned i = 0; i < store::GroupLedger::records; ++i)
    ASSERT_TRUE(make("name", "name").first.has_ended);
  std::thread server([&] {
    while (board().arrived_count() != 2) std::this_thread::yield();
    (void)board().dissolve(by_message);
  });
  const auto [a, b] = make("name", "name");
  server.join();
  EXPECT_FALSE(a.has_ended || b.has_ended);
}

TEST_F(GroupMeetingsTest, a_member_that_waits_for_long_asks_the_server) {
  std::thread server([&] {
    const auto frame = zero.wired.received();
    EXPECT_EQ(frame.type, link::MessageType::withdraw);
    const auto withdraw = link::decode<link::Withdraw>(frame.payload);
    EXPECT_EQ(withdraw->board, number);
    EXPECT_EQ(board().dissolve(by_message), withdraw->generation);
  });
  const auto out = make(zero, "name");
  server.join();
  EXPECT_FALSE(out.has_ended);
  EXPECT_GE(out.waited, GroupMeetings::patience);
}

TEST_F(GroupMeetingsTest, what_the_server_has_to_see_is_a_message) {
  EXPECT_FALSE(make(zero, "name", with(PMIX_GROUP_ASSIGN_CONTEXT_ID, data::Value::of(true))).has_ended);
  EXPECT_FALSE(
      make(zero, "name", with(PMIX_TIMEOUT, data::Value::of(std::string_view("no number")))).has_ended);
  const Procs spelt{link::make_proc("job", 0), link::make_proc("job", 1)};
  EXPECT_FALSE(zero.meetings.construct("name", spelt, {}, members).has_ended);
  EXPECT_FALSE(zero.meetings.destruct("name", {{"job", 0, 1}}, {}).has_ended);
  EXPECT_EQ(board().arrived_count(), 0u);
}

TEST_F(GroupMeetingsTest, an_offer_that_makes_no_sense_is_none) {
  Member stranger{node, job.view(), 7};
  const link::RankRuns both{{"job", 0, 1}};
  const link::RankRuns many{{"job", 0, store::most_group_members}};
  const auto incarnation = pool.incarnation(number);
  stranger.meetings.take_seat(array, {both, 0, number, incarnation, 1, both});
  EXPECT_FALSE(make(stranger, "name").has_ended);
  Member fresh{node, job.view(), 0};
  for (const auto& offer : {link::GroupMembers{both, 0, 0, incarnation, 1, both},
                            link::GroupMembers{both, 0, 100000, incarnation, 1, both},
                            link::GroupMembers{both, 0, number, 0, 1, both},
                            link::GroupMembers{many, 0, number, incarnation, 1, many},
                            link::GroupMembers{both, 0, number, incarnation, 1, {}}}) {
    fresh.meetings.take_seat(array, offer);
    EXPECT_FALSE(make(fresh, "name").has_ended);
  }
}

}  // namespace
}  // namespace weft::client
