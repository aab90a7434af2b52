// SPDX-License-Identifier: BSD-3-Clause
// Fences of sets that are not a whole job, from the second one on: at the set's board, which the first one's
// reply offered.
#include <atomic>
#include <csignal>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- clients

/// Ranks 0 .. n-1, from `first` round.
std::vector<pmix_proc_t> ranks_below(const Client& client, pmix_rank_t n, pmix_rank_t first = 0) {
  std::vector<pmix_proc_t> out;
  for (pmix_rank_t i = 0; i < n; ++i) out.push_back(client.peer((first + i) % n));
  return out;
}

void fence_twice(const std::vector<pmix_proc_t>& set) {
  for (int i = 0; i < 2; ++i) check_status(fence(set), PMIX_SUCCESS);
}

/// After its first fences the set exchanges cards round for round; the server may be asleep meanwhile.
int set_rounds(const Words& words) {
  Client client;
  const auto set = ranks_below(client, client.size - 1, client.me.rank);
  fence_twice(set);
  say("ready");
  await("go");
  for (std::uint64_t round = 1; round <= std::stoul(words[0]); ++round) {
    check_status(put("count", round * 100 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(set, Infos().flag(PMIX_COLLECT_DATA)), PMIX_SUCCESS);
    for (const auto& member : set) check_equal(get(member, "count").u64(), round * 100 + member.rank);
    check_status(fence(set), PMIX_SUCCESS);
  }
  say("done");
  await("end");
  client.finalize();
  return 0;
}

/// Sixteen fences of the set open at once, the first ones by message, and a blocking one behind them; a few
/// times over.
int set_many_open(const Words&) {
  Client client;
  if (client.me.rank + 1 < client.size) {
    constexpr unsigned many = 16;
    for (pmix_rank_t round = 0; round < 30; ++round) {
      const auto set = ranks_below(client, client.size - 1, client.me.rank + round);
      EndOrder order;
      std::vector<std::pair<EndOrder*, unsigned>> cells;
      for (unsigned i = 0; i < many; ++i) cells.emplace_back(&order, i);
      for (auto& cell : cells)
        check_status(PMIx_Fence_nb(set.data(), set.size(), nullptr, 0, EndOrder::on_end, &cell),
                     PMIX_SUCCESS);
      check_status(fence(set), PMIX_SUCCESS);
      check(eventually([&] { return order.ended.load() == many; }), "a callback never came");
    }
  }
  client.finalize();
  return 0;
}

/// Two threads of each member, one blocking and one not, each with an array of its own order.
int set_two_threads(const Words&) {
  Client client;
  if (client.me.rank + 1 < client.size) {
    const auto members = client.size - 1;
    std::thread other([&] {
      const auto set = ranks_below(client, members, client.me.rank);
      for (int i = 0; i < 100; ++i) {
        Waiter waiter;
        check_status(PMIx_Fence_nb(set.data(), set.size(), nullptr, 0, Waiter::on_status, &waiter),
                     PMIX_SUCCESS);
        check_status(waiter.wait(), PMIX_SUCCESS);
      }
    });
    const auto set = ranks_below(client, members);
    for (int i = 0; i < 100; ++i) check_status(fence(set), PMIX_SUCCESS);
    other.join();
  }
  client.finalize();
  return 0;
}

/// Every set of two or more ranks fences in turn, again and again: more sets than a small segment has boards.
/// Each rank says in its card how far it is: when a fence has ended, no member can be behind it.
int every_set(const Words& words) {
  Client client;
  std::uint64_t step = 0;
  for (std::uint64_t round = 0; round < std::stoul(words[0]); ++round)
    for (std::uint32_t mask = 1; mask < 1u << client.size; ++mask) {
      ++step;
      std::vector<pmix_proc_t> set;
      for (pmix_rank_t r = 0; r < client.size; ++r)
        if ((mask >> r & 1) != 0) set.push_back(client.peer(r));
      if ((mask >> client.me.rank & 1) == 0 || set.size() < 2) continue;
      check_status(put("step", step), PMIX_SUCCESS);
      check_status(PMIx_Commit(), PMIX_SUCCESS);
      check_status(fence(set), PMIX_SUCCESS);
      for (const auto& member : set) check(get(member, "step").u64() >= step, "a fence ended too early");
    }
  client.finalize();
  return 0;
}

/// The set of ranks 1 .. n-1 is at its board; then its last rank stays away. words: blocking or nb;
/// "when told".
int wait_at_board(const Words& words) {
  Client client;
  std::vector<pmix_proc_t> set;
  for (pmix_rank_t r = 1; r < client.size; ++r) set.push_back(client.peer(r));
  fence_twice(set);
  say("ready");
  if (client.me.rank + 1 == client.size) {
    await("finalize");
    client.finalize();
    say("finalized");
    await("exit");
    return 0;
  }
  if (words.size() > 1) await("go");
  if (words[0] == "nb") {
    Waiter waiter;
    check_status(PMIx_Fence_nb(set.data(), set.size(), nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
    say(PMIx_Error_string(waiter.wait()));
  } else {
    say(PMIx_Error_string(fence(set)));
  }
  say(PMIx_Error_string(fence(set)));
  say(PMIx_Error_string(PMIx_Finalize(nullptr, 0)));
  return 0;
}

/// The set is at its board; its last rank comes too late for one fence, and in time for the next.
int late_at_board(const Words& words) {
  Client client;
  const auto set = ranks_below(client, client.size - 1);
  if (client.me.rank + 1 == client.size) return client.finalize(), 0;
  fence_twice(set);
  if (client.me.rank + 2 == client.size) {
    await("go");
    check_status(fence(set), PMIX_ERR_TIMEOUT);  // it ended without this rank
  } else {
    Infos infos = std::move(Infos().integer(PMIX_TIMEOUT, 1));
    if (words[0] == "nb") {
      Waiter waiter;
      check_status(
          PMIx_Fence_nb(set.data(), set.size(), infos.data(), infos.size(), Waiter::on_status, &waiter),
          PMIX_SUCCESS);
      check_status(waiter.wait(), PMIX_ERR_TIMEOUT);
    } else {
      check_status(fence(set, infos), PMIX_ERR_TIMEOUT);
    }
    say("timed out");
  }
  check_status(fence(set), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

}  // namespace

void add_set_fence_programs(Programs& programs) {
  programs.add("set_rounds", set_rounds);
  programs.add("set_many_open", set_many_open);
  programs.add("set_two_threads", set_two_threads);
  programs.add("every_set", every_set);
  programs.add("wait_at_board", wait_at_board);
  programs.add("late_at_board", late_at_board);
}

// ---- tests

class SetFenceTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};

INSTANTIATE_TEST_SUITE_P(Segment, SetFenceTest, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

class SetBoardTest : public Multiproc {};

// The proof that no daemon is in the path: it is stopped.
TEST_F(SetBoardTest, members_meet_while_the_server_is_stopped) {
  constexpr pmix_rank_t members = 3;
  Child server("serve", {std::to_string(members + 1)}, {});
  std::vector<Child> children;
  for (pmix_rank_t r = 0; r < members; ++r) {
    Child::Options options;
    options.variables = hear_variables(server);
    children.emplace_back("set_rounds", Words{"200"}, options);
  }
  for (auto& child : children) child.expect("ready");
  server.kill(SIGSTOP);
  for (auto& child : children) child.tell("go");
  for (auto& child : children) child.expect("done");
  server.kill(SIGCONT);
  for (auto& child : children) child.tell("end");
  expect_success(children);
  server.tell("end");
  server.expect_success();
}

TEST_P(SetFenceTest, several_open_at_once_end_in_order) {
  all_run(GetParam(), 4, "set_many_open");
}
TEST_P(SetFenceTest, threads_of_a_member_make_consecutive_fences) {
  all_run(GetParam(), 4, "set_two_threads");
}
TEST_P(SetFenceTest, more_sets_than_boards) {
  // 119 sets; a segment of 64 MiB has 60 boards.
  all_run(GetParam(), 7, "every_set", {GetParam() == Segment::mapped ? "6" : "2"},
          {{"WEFT_SEGMENT_BYTES", std::to_string(64 << 20)}});
}

namespace {

/// Rank 3 of 4 ends while the others wait for it at the board, or before their fence.
void expect_end_at_board(Segment segment, const char* style, bool inside, bool by_finalize,
                         const char* status) {
  Host host;
  host.add_job("job", 4);
  Words words{style};
  if (!inside) words.emplace_back("when told");
  std::vector<Child> children;
  for (pmix_rank_t r = 1; r < 4; ++r)
    children.push_back(host.start("job", r, "wait_at_board", words, reach(segment, r)));
  auto& last = children.back();
  for (auto& child : children) child.expect("ready");
  if (by_finalize) {
    last.tell("finalize");
    last.expect("finalized");
  } else {
    last.kill();
    EXPECT_EQ(last.wait(), SIGKILL);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!inside) children[i].tell("go");
    children[i].expect(status);
    children[i].expect(status);
    children[i].expect("PMIX_SUCCESS");
    children[i].expect_success();
  }
  if (by_finalize) last.tell("exit");
  if (by_finalize) last.expect_success();
}

void expect_time_out_at_board(Segment segment, const char* style) {
  Host host;
  host.add_job("job", 4);
  auto children = start_all(host, segment, "job", 4, "late_at_board", {style});
  for (std::size_t i = 0; i < 2; ++i) children[i].expect("timed out");
  children[2].tell("go");
  expect_success(children);
}

}  // namespace

TEST_P(SetFenceTest, killed_inside) {
  expect_end_at_board(GetParam(), "blocking", true, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(SetFenceTest, killed_inside_nb) {
  expect_end_at_board(GetParam(), "nb", true, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(SetFenceTest, killed_before) {
  expect_end_at_board(GetParam(), "blocking", false, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(SetFenceTest, finalized_inside) {
  expect_end_at_board(GetParam(), "blocking", true, true, "PMIX_ERR_UNREACH");
}
TEST_P(SetFenceTest, finalized_before) {
  expect_end_at_board(GetParam(), "blocking", false, true, "PMIX_ERR_UNREACH");
}
TEST_P(SetFenceTest, deadline) {
  expect_time_out_at_board(GetParam(), "blocking");
}
TEST_P(SetFenceTest, deadline_nb) {
  expect_time_out_at_board(GetParam(), "nb");
}

}  // namespace weft::test
