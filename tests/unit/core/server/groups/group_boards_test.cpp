// SPDX-License-Identifier: BSD-3-Clause
// Boards of groups from the server's side, and the table of groups that comes of them. The test plays the
// members.
#include "core/server/groups/table/group_boards.hpp"

#include "core/server/groups/table/group_table.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::server {
namespace {

using store::GroupAct;
using store::tag_of;

link::RankRuns ranks(std::uint32_t first, std::uint32_t last) {
  return {{"job", first, last}};
}
pmix_proc_t rank(std::uint32_t rank) {
  return link::make_proc("job", rank);
}

/// All members of one board.
struct Members {
  Members(const store::JobView& job, const link::GroupMembers& offer)
      : count(offer.runs.front().last - offer.runs.front().first + 1),
        board(store::ServerBoard::at(job.clients_memory().data() +
                                     store::pool_slot(job.header(), offer.board)->offset)),
        ledger(store::ledger_of(board)),
        incarnation(offer.incarnation),
        next(offer.next) {}
  /// All but the last `missing` members come. False: they cannot, the board is closed or dissolved.
  bool come_to(GroupAct act, std::string_view name, std::uint32_t missing = 0) {
    for (std::uint32_t me = 0; me + missing < count; ++me)
      if (!board.hold(me, incarnation)) return false;
    EXPECT_TRUE(ledger.write(next, act, name));
    bool is_well = true;
    for (std::uint32_t me = 0; me + missing < count; ++me) {
      const auto arrival = board.arrive_alike(me, next, 11, count, incarnation);
      is_well = is_well &&
                (arrival == store::Board::Arrival::waiting || arrival == store::Board::Arrival::completed);
      if (missing == 0) board.let_go(me, incarnation);
    }
    if (missing == 0) ++next;
    return is_well;
  }
  void let_go() {
    for (std::uint32_t me = 0; me < count; ++me) board.let_go(me, incarnation);
  }
  std::uint32_t count;
  store::ServerBoard& board;
  store::GroupLedger& ledger;
  store::Incarnation incarnation;
  store::Generation next;
};

struct GroupBoardsTest : ::testing::Test {
  Members open(std::uint32_t first, std::uint32_t last) {
    const auto runs = ranks(first, last);
    return Members(job.view(), boards.open(job.view(), *link::procs_of(runs), runs, runs).value());
  }
  const GroupTable& settled() {
    table.settle();
    return table;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    settled().each([&](const std::string& name, const Group&) { out.push_back(name); });
    return out;
  }
  using Names = std::vector<std::string>;

  store::Node node;
  store::JobWriter job{node.add(store::flat_job("job", 4096, 4096), {.card_bytes = 4096}).value()};
  GroupBoards boards{node.segment};
  asio::io_context io;
  Loop loop{io};
  Cluster cluster{loop, "node"};
  Signatures signatures{cluster};
  GroupTable table{boards, cluster, signatures};
};

TEST_F(GroupBoardsTest, what_members_make_is_in_the_table) {
  auto members = open(3, 5);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a"));
  EXPECT_TRUE(members.come_to(GroupAct::made, "b"));
  EXPECT_EQ(names(), (Names{"a", "b"}));
  EXPECT_EQ(settled().find("a")->members, ranks(3, 5));
  EXPECT_TRUE(members.come_to(GroupAct::ended, "a"));
  EXPECT_EQ(settled().size(), 1u);
  EXPECT_EQ(settled().find("a"), nullptr);
}

TEST_F(GroupBoardsTest, a_group_that_was_found_stays_where_it_is_until_the_table_changes) {
  auto members = open(3, 5);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a"));
  const auto* const found = settled().find("a");
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(members.come_to(GroupAct::ended, "a"));
  EXPECT_TRUE(members.come_to(GroupAct::made, "b"));
  EXPECT_EQ(table.find("b"), nullptr) << "a look reads no ledger";
  EXPECT_EQ(table.find("a"), found);
  EXPECT_EQ(found->members, ranks(3, 5));
  EXPECT_EQ(names(), Names{"b"});
}

TEST_F(GroupBoardsTest, what_the_server_adds_comes_after_what_stands_in_ledgers) {
  auto members = open(3, 5);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a"));
  EXPECT_TRUE(members.come_to(GroupAct::ended, "a"));
  table.add("a", {.members = ranks(3, 5), .options = {}});
  EXPECT_EQ(names(), Names{"a"});
}

/// At a board or by message; one that is only dropped may come again.
TEST_F(GroupBoardsTest, a_group_has_ended_until_there_is_another_of_its_name) {
  auto members = open(3, 5);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a"));
  EXPECT_FALSE(settled().has_ended("a", 0));
  EXPECT_TRUE(members.come_to(GroupAct::ended, "a"));
  EXPECT_TRUE(settled().has_ended("a", 0));
  table.add("a", {.members = ranks(3, 5), .options = {}});
  EXPECT_FALSE(table.has_ended("a", 0));
  table.erase("a");
  EXPECT_FALSE(table.has_ended("a", 0));
  table.add("a", {.members = ranks(3, 5), .options = {}});
  table.end("a");
  EXPECT_TRUE(table.has_ended("a", 0));
  EXPECT_EQ(table.find("a"), nullptr);
  table.add("a", {.members = ranks(3, 5), .options = {}, .series = 9, .origin = 8});
  EXPECT_TRUE(table.has_ended("a", 0)) << "and another has its name";
  table.end("a");
  EXPECT_TRUE(table.has_ended("a", 8));
  EXPECT_FALSE(table.has_ended("a", 9));
}

TEST_F(GroupBoardsTest, a_version_that_was_left_behind_is_past_and_a_later_one_is_not) {
  table.add("a", {.members = ranks(3, 5), .options = {}, .version = 2, .origin = 8});
  EXPECT_FALSE(table.is_past("a", 8, 1));
  table.erase("a");
  EXPECT_TRUE(table.is_past("a", 8, 2));
  EXPECT_FALSE(table.is_past("a", 8, 3) || table.is_past("a", 9, 2));
  table.add("a", {.members = ranks(3, 5), .options = {}, .version = 3, .origin = 8});
  EXPECT_FALSE(table.is_past("a", 8, 2));
  table.end("a");
  EXPECT_TRUE(table.is_past("a", 8, 9)) << "there is no later one";
}

TEST_F(GroupBoardsTest, what_has_not_ended_is_not) {
  auto members = open(0, 2);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a", 1));
  EXPECT_EQ(settled().size(), 0u);
  boards.dissolve(*link::procs_of(ranks(0, 2)));
  EXPECT_EQ(settled().size(), 0u);
  EXPECT_TRUE(members.board.broken(members.next));
}

TEST_F(GroupBoardsTest, more_records_than_places_if_the_server_reads_in_between) {
  auto members = open(0, 0);
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(members.come_to(GroupAct::made, "group " + std::to_string(i)));
    if (members.ledger.is_reader_due(members.next)) boards.look_at(rank(0), store::own_job_board);
  }
  EXPECT_EQ(settled().size(), 500u);
}

TEST_F(GroupBoardsTest, a_name_goes_from_set_to_set) {
  auto later = open(4, 5), sooner = open(0, 1), other = open(2, 3);  // read in another order than made
  for (auto* set : {&sooner, &other, &sooner, &later}) {
    EXPECT_TRUE(set->come_to(GroupAct::made, "name"));
    if (set == &later) break;
    EXPECT_TRUE(set->come_to(GroupAct::ended, "name"));
  }
  EXPECT_EQ(names(), Names{"name"});
  EXPECT_EQ(settled().find("name")->members, ranks(4, 5));
}

TEST_F(GroupBoardsTest, a_name_of_two_sets_at_a_time_is_one_of_them) {
  auto one = open(0, 1), other = open(2, 3);
  EXPECT_TRUE(one.come_to(GroupAct::made, "name"));
  EXPECT_TRUE(other.come_to(GroupAct::made, "name"));
  EXPECT_TRUE(other.come_to(GroupAct::made, "another"));
  EXPECT_EQ(names(), (Names{"another", "name"}));
  EXPECT_TRUE(one.come_to(GroupAct::ended, "name"));
  EXPECT_TRUE(other.come_to(GroupAct::ended, "name"));
  EXPECT_EQ(names(), Names{"another"});
  EXPECT_TRUE(one.come_to(GroupAct::ended, "another"));  // of which it is no member
  EXPECT_EQ(names(), Names{"another"});
}

TEST_F(GroupBoardsTest, a_board_that_no_member_holds_is_closed) {
  auto members = open(0, 2);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a"));
  boards.dissolve(*link::procs_of(ranks(0, 2)));
  EXPECT_FALSE(members.board.hold(0, members.incarnation));
  EXPECT_EQ(names(), Names{"a"});
  auto again = open(0, 2);
  EXPECT_EQ(&again.board, &members.board);
  EXPECT_NE(again.incarnation, members.incarnation);
  EXPECT_TRUE(again.come_to(GroupAct::ended, "a"));
  EXPECT_EQ(settled().size(), 0u);
}

TEST_F(GroupBoardsTest, a_board_that_is_held_waits_for_that_member) {
  auto members = open(0, 2);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a", 1));
  boards.dissolve(*link::procs_of(ranks(0, 2)));
  auto next = open(0, 2);
  EXPECT_NE(&next.board, &members.board);
  members.let_go();
  auto another = open(3, 4);
  EXPECT_EQ(&another.board, &members.board);
}

TEST_F(GroupBoardsTest, a_member_that_has_ended_holds_nothing) {
  auto members = open(0, 2);
  EXPECT_TRUE(members.come_to(GroupAct::made, "a", 1));
  boards.lose(rank(0));
  EXPECT_TRUE(members.board.broken(members.next));
  members.board.let_go(1, members.incarnation);
  auto another = open(3, 4);
  EXPECT_EQ(&another.board, &members.board);
  boards.lose(link::make_proc("job", PMIX_RANK_WILDCARD));
  EXPECT_FALSE(another.come_to(GroupAct::made, "a"));
}

TEST_F(GroupBoardsTest, only_members_have_it_dissolved) {
  auto members = open(0, 2);
  const auto number = store::BoardNumber{257};
  ASSERT_TRUE(boards.owns(number));
  EXPECT_FALSE(boards.owns(256));
  EXPECT_FALSE(boards.owns(store::own_job_board));
  EXPECT_TRUE(members.come_to(GroupAct::made, "a", 1));
  boards.withdraw(rank(7), number, members.next);
  boards.withdraw(link::make_proc("other", 0), number, members.next);
  boards.withdraw(rank(0), number, members.next - 1);
  boards.look_at(rank(7), store::own_job_board);
  boards.look_at(rank(0), number);  // not full
  EXPECT_FALSE(members.board.broken(members.next));
  boards.withdraw(rank(0), number, members.next);
  EXPECT_TRUE(members.board.broken(members.next));
}

TEST_F(GroupBoardsTest, a_full_board_of_tags_that_differ_is_dissolved) {
  auto members = open(0, 1);
  for (std::uint32_t me = 0; me < 2; ++me) {
    ASSERT_TRUE(members.board.hold(me, members.incarnation));
    (void)members.board.arrive_alike(me, members.next, 20 + me, 2, members.incarnation);
  }
  boards.look_at(rank(1), 257);
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::failed);
}

/// Ranks 2 and 3 are here, 0 and 1 elsewhere; group ranks are the other way round.
struct FarBoardTest : GroupBoardsTest {
  FarBoardTest()
      : offer(boards.open(job.view(), *link::procs_of(ranks(0, 3)), all, here).value()),
        members(job.view(), offer) {
    members.count = 2;
  }
  /// Both come.
  void come(std::uint64_t tag, std::uint64_t other_tag) {
    for (std::uint32_t me = 0; me < 2; ++me) {
      ASSERT_TRUE(members.board.hold(me, members.incarnation));
      const auto arrival =
          members.board.arrive_alike(me, members.next, me == 0 ? tag : other_tag, 2, members.incarnation);
      EXPECT_EQ(arrival, me == 0 ? store::Board::Arrival::waiting : store::Board::Arrival::full);
    }
  }
  void come(const char* name) {
    ASSERT_TRUE(members.ledger.write(members.next, GroupAct::made, name));
    come(tag_of(GroupAct::made, name), tag_of(GroupAct::made, name));
  }
  const link::RankRuns all{{"job", 3, 3}, {"job", 2, 2}, {"job", 1, 1}, {"job", 0, 0}};
  const link::RankRuns here{{"job", 3, 3}, {"job", 2, 2}};
  const link::GroupMembers offer;
  Members members;
};

TEST_F(FarBoardTest, its_members_leave_it_to_the_server) {
  EXPECT_EQ(offer.cells, here);
  come("a");
  auto full = boards.look_at(rank(3), offer.board);
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full[0].record.name, "a");
  EXPECT_EQ(full[0].record.act, GroupAct::made);
  EXPECT_EQ(full[0].ticket.board->members, all);
  EXPECT_EQ(link::runs_of(full[0].ticket.board->here), here);
  EXPECT_TRUE(boards.look_at(rank(3), store::own_job_board).empty());  // once
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::open);
  EXPECT_TRUE(boards.complete(full[0].ticket));
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::success);
  EXPECT_FALSE(boards.complete(full[0].ticket));
  EXPECT_EQ(settled().size(), 0u);  // the server makes it
}

TEST_F(FarBoardTest, many_in_a_row) {
  for (int i = 0; i < 300; ++i) {
    come(i % 2 == 0 ? "a" : "b");
    const auto full = boards.look_at(rank(2), offer.board);
    ASSERT_EQ(full.size(), 1u);
    EXPECT_TRUE(boards.complete(full[0].ticket));
    for (std::uint32_t me = 0; me < 2; ++me) members.board.let_go(me, members.incarnation);
    ++members.next;
  }
}

TEST_F(FarBoardTest, tags_that_differ_make_messages) {
  come(20, 21);
  EXPECT_TRUE(boards.look_at(rank(3), offer.board).empty());
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::failed);
}

TEST_F(FarBoardTest, so_does_a_name_that_is_not_in_the_ledger) {
  ASSERT_TRUE(members.ledger.write(members.next, GroupAct::made, "another"));
  come(tag_of(GroupAct::made, "a"), tag_of(GroupAct::made, "a"));
  EXPECT_TRUE(boards.look_at(rank(3), offer.board).empty());
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::failed);
}

TEST_F(FarBoardTest, what_has_become_messages_does_not_end_there) {
  come("a");
  const auto full = boards.look_at(rank(3), offer.board);
  ASSERT_EQ(full.size(), 1u);
  boards.dissolve(*link::procs_of(ranks(0, 3)));
  EXPECT_EQ(members.board.outcome(members.next), store::Board::Outcome::failed);
  EXPECT_FALSE(boards.complete(full[0].ticket));
  boards.dissolve(full[0].ticket);  // and once more
}

TEST_F(FarBoardTest, members_that_are_sent_away_are_known_until_their_messages_come) {
  const auto made = tag_of(GroupAct::made, "a"), ended = tag_of(GroupAct::ended, "a");
  come("a");
  EXPECT_TRUE(boards.sent_away(made).empty());
  boards.dissolve(*link::procs_of(ranks(0, 3)));
  EXPECT_EQ(link::runs_of(boards.sent_away(made)), here);
  EXPECT_TRUE(boards.sent_away(ended).empty());
  boards.came(rank(3), ended);  // a message about something else
  boards.came(rank(3), made);
  ASSERT_EQ(boards.sent_away(made).size(), 1u);
  EXPECT_TRUE(link::is_same(boards.sent_away(made)[0], rank(2)));
  boards.lose(rank(2));
  EXPECT_TRUE(boards.sent_away(made).empty());
}

TEST_F(FarBoardTest, of_members_that_are_sent_away_only_those_that_had_arrived_are_known) {
  const auto tag = tag_of(GroupAct::fenced, "a"), adjusting = tag_of(GroupAct::fenced, "a", true);
  EXPECT_NE(tag, adjusting);
  ASSERT_TRUE(members.board.hold(1, members.incarnation));
  (void)members.board.arrive_alike(1, members.next, adjusting, 2, members.incarnation);
  boards.dissolve(*link::procs_of(ranks(0, 3)));
  EXPECT_TRUE(boards.sent_away(tag).empty());
  ASSERT_EQ(boards.sent_away(adjusting).size(), 1u);
  EXPECT_TRUE(link::is_same(boards.sent_away(adjusting)[0], rank(2)));
}

TEST_F(FarBoardTest, damage_ends_in_a_message_or_a_name) {
  ::testing::Test::RecordProperty("kind", "bytes written wrong");
  weft::testing::Watchdog watchdog;
  weft::testing::Random random;
  for (unsigned round = 0; round < weft::testing::rounds(2'000); ++round) {
    const auto made = boards.open(job.view(), *link::procs_of(ranks(0, 3)), all, here);
    if (!made) break;  // all slots are held by members that never let go
    Members some(job.view(), *made);
    (void)some.ledger.write(some.next, GroupAct::made, "a");
    for (std::uint32_t me = 0; me < 2; ++me) {
      (void)some.board.hold(me, some.incarnation);
      (void)some.board.arrive_alike(me, some.next, tag_of(GroupAct::made, "a"), 2, some.incarnation);
    }
    weft::testing::damage(random, reinterpret_cast<std::byte*>(&some.board), store::Board::footprint(2));
    weft::testing::damage(random, reinterpret_cast<std::byte*>(&some.ledger), 1024);
    for (const auto& full : boards.look_at(rank(3), store::own_job_board)) {
      EXPECT_LE(full.record.name.size(), store::GroupLedger::longest_name);
      (void)boards.complete(full.ticket);
    }
    for (const std::uint32_t member : {2u, 3u}) boards.lose(rank(member));
  }
}

TEST_F(GroupBoardsTest, the_oldest_makes_room) {
  std::vector<Members> all;
  for (std::uint32_t i = 0; i <= store::most_group_boards; ++i) all.push_back(open(i, i));
  EXPECT_FALSE(all.front().come_to(GroupAct::made, "no board"));
  EXPECT_TRUE(all.back().come_to(GroupAct::made, "last"));
  EXPECT_TRUE(all[1].come_to(GroupAct::made, "second"));
  const auto many = ranks(0, store::most_group_members);
  EXPECT_FALSE(boards.open(job.view(), *link::procs_of(many), many, many));
  const auto most = ranks(1, store::most_group_members);
  EXPECT_TRUE(boards.open(job.view(), *link::procs_of(most), most, most));
}

TEST_F(GroupBoardsTest, damage_ends_in_some_table) {
  ::testing::Test::RecordProperty("kind", "bytes written wrong");
  weft::testing::Watchdog watchdog;
  weft::testing::Random random;
  for (unsigned round = 0; round < weft::testing::rounds(2'000); ++round) {
    auto members = open(0, 2);
    (void)members.come_to(GroupAct::made, "a");
    (void)members.come_to(GroupAct::made, "b", 1);
    weft::testing::damage(random, reinterpret_cast<std::byte*>(&members.board),
                          store::Board::footprint(members.count));
    weft::testing::damage(random, reinterpret_cast<std::byte*>(&members.ledger), 1024);
    boards.look_at(rank(1), store::own_job_board);
    EXPECT_LE(settled().size(), 2 * store::GroupLedger::records);
    boards.lose(link::make_proc("job", PMIX_RANK_WILDCARD));
    table.erase_if([](const std::string&, const Group&) { return true; });
  }
}

}  // namespace
}  // namespace weft::server
