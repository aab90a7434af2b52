// SPDX-License-Identifier: BSD-3-Clause
// What members of a board hear of an operation's end: by the board, or by messages, whenever they come. The
// test plays the members.
#include "core/server/groups/open/board_meetings.hpp"

#include "tests/unit/core/server/connections/lines.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::server {
namespace {

/// Ranks 0 and 1 of a job of four have come to the end of a group at their board.
struct BoardMeetingsTest : ::testing::Test {
  using Outcome = store::Board::Outcome;
  BoardMeetingsTest() {
    const link::RankRuns all{{"job", 0, 3}}, here{{"job", 0, 1}};
    const auto& view = job.view();
    const auto offer = boards.open(view, set, all, here).value();
    auto* const memory = view.clients_memory().data() + store::pool_slot(view.header(), offer.board)->offset;
    board = &store::Board::at(memory);
    auto& ledger = store::GroupLedger::at(memory + store::group_ledger_at);
    EXPECT_TRUE(ledger.write(offer.next, store::GroupAct::ended, "group"));
    const auto tag = store::tag_of(store::GroupAct::ended, "group");
    for (std::uint32_t me = 0; me < 2; ++me) {
      EXPECT_TRUE(board->hold(me, offer.incarnation));
      (void)board->arrive_alike(me, offer.next, tag, 2, offer.incarnation);
      lines.emplace_back(loop, owner);
      lines.back().connection->proc = link::make_proc("job", me);
    }
    auto full = boards.look_at(link::make_proc("job", 1), offer.board);
    EXPECT_EQ(full.size(), 1u);
    generation = offer.next;
    number = meetings.add(Meeting::Kind::destruct, full.at(0), well);
  }
  /// The call of that member comes as a message.
  bool asks(unsigned member, const char* group = "group", Meeting::Kind kind = Meeting::Kind::destruct) {
    return meetings.claim({lines[member].connection, 10 + member}, kind, group, nullptr) == number;
  }
  /// PMIX_ERROR: it has no answer.
  pmix_status_t heard(unsigned member) {
    const auto frame = lines[member].read();
    if (!frame || frame->tag != 10 + member) return PMIX_ERROR;
    const auto answer = link::decode<link::Answer>(frame->payload);
    return answer ? answer->status : PMIX_ERROR;
  }

  const link::Answer well{PMIX_SUCCESS, {}, {}}, late{PMIX_ERR_TIMEOUT, {}, {}};
  asio::io_context loop;  // what follows has connections of it
  KeepingOwner owner;
  std::vector<Line> lines;
  const Procs set{link::make_proc("job", PMIX_RANK_WILDCARD)};
  store::Node node;
  store::JobWriter job{node.add(store::flat_job("job", 4, 2)).value()};
  GroupBoards boards{node.segment};
  BoardMeetings meetings{boards};
  store::Board* board = nullptr;
  store::Generation generation = 0;
  std::uint64_t number = 0;
};

TEST_F(BoardMeetingsTest, the_board_says_that_all_is_well) {
  meetings.answer(number, well);
  EXPECT_EQ(board->outcome(generation), Outcome::success);
  EXPECT_FALSE(asks(0));  // it is over for all
}

TEST_F(BoardMeetingsTest, any_other_end_is_told_to_each_message) {
  meetings.answer(number, late);
  EXPECT_EQ(board->outcome(generation), Outcome::failed);
  EXPECT_TRUE(asks(1));
  EXPECT_EQ(heard(1), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(heard(0), PMIX_ERROR);
  EXPECT_FALSE(asks(1));  // another call of its
  EXPECT_TRUE(asks(0));
  EXPECT_EQ(heard(0), PMIX_ERR_TIMEOUT);
  EXPECT_FALSE(asks(0));
}

TEST_F(BoardMeetingsTest, a_message_before_the_end_waits_for_it) {
  boards.dissolve(set);
  EXPECT_FALSE(asks(0, "another"));
  EXPECT_FALSE(asks(0, "group", Meeting::Kind::fence));
  EXPECT_TRUE(asks(0));
  EXPECT_EQ(heard(0), PMIX_ERROR);
  meetings.answer(number, well);
  EXPECT_EQ(heard(0), PMIX_SUCCESS);
  EXPECT_TRUE(asks(1));
  EXPECT_EQ(heard(1), PMIX_SUCCESS);
}

TEST_F(BoardMeetingsTest, a_member_that_takes_no_part_any_more_hears_so) {
  meetings.answer(number, link::make_proc("job", 0), PMIX_ERR_NOT_A_MEMBER);
  EXPECT_TRUE(asks(0));
  EXPECT_EQ(heard(0), PMIX_ERR_NOT_A_MEMBER);
  EXPECT_TRUE(asks(1));
  meetings.answer(number, well);
  EXPECT_EQ(heard(1), PMIX_SUCCESS);
}

TEST_F(BoardMeetingsTest, a_construct_of_other_members_is_another) {
  const Procs other{link::make_proc("job", 0)};
  boards.dissolve(set);
  EXPECT_EQ(meetings.claim({lines[0].connection, 1}, Meeting::Kind::destruct, "group", &other), 0u);
  EXPECT_EQ(meetings.claim({lines[0].connection, 1}, Meeting::Kind::destruct, "group", &set), number);
}

TEST_F(BoardMeetingsTest, a_member_that_has_ended_is_not_waited_for) {
  meetings.lose(link::make_proc("job", 0));
  meetings.answer(number, late);
  EXPECT_FALSE(asks(0));
  EXPECT_TRUE(asks(1));
  EXPECT_EQ(heard(1), PMIX_ERR_TIMEOUT);
  meetings.lose(link::make_proc("job", PMIX_RANK_WILDCARD));
  EXPECT_FALSE(asks(1));
}

}  // namespace
}  // namespace weft::server
