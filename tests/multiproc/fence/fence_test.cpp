// SPDX-License-Identifier: BSD-3-Clause
// Fences on one node: order, several at once, sets, deadlines, deaths; with and without the node segment.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- clients

/// Each rank puts a counter, fences, and must read exactly this round's counter of all others; the second
/// fence keeps the next round's values out of this one.
int count_rounds(const Words& words) {
  Client client;
  const auto rounds = std::stoul(words[0]);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    check_status(put("count", round * 100 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "count").u64(), round * 100 + r);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Sixteen fences open at once, then a blocking one behind them; a few times over.
int many_open(const Words&) {
  Client client;
  constexpr unsigned many = 16;
  for (int round = 0; round < 50; ++round) {
    EndOrder order;
    std::vector<std::pair<EndOrder*, unsigned>> cells;
    for (unsigned i = 0; i < many; ++i) cells.emplace_back(&order, i);
    for (auto& cell : cells)
      check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, EndOrder::on_end, &cell), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    // The blocking one is the last of all: when it has returned, every rank has entered all before it.
    check(eventually([&] { return order.ended.load() == many; }), "a callback never came");
  }
  client.finalize();
  return 0;
}

/// Two threads fence at the same time: two consecutive fences of this process, whichever thread comes first.
int two_threads(const Words&) {
  Client client;
  const auto body = [] {
    for (int i = 0; i < 200; ++i) check_status(fence(), PMIX_SUCCESS);
  };
  std::thread other(body);
  body();
  other.join();
  client.finalize();
  return 0;
}

/// Halves of the job fence by themselves, each rank spelling the set in another order, some ranks twice.
int halves(const Words&) {
  Client client;
  const auto half = client.size / 2;
  const bool low = client.me.rank < half;
  for (std::uint64_t round = 0; round < 100; ++round) {
    std::vector<pmix_proc_t> set;
    for (pmix_rank_t i = 0; i < half; ++i) {
      const auto turned = (i + client.me.rank + static_cast<pmix_rank_t>(round)) % half;
      set.push_back(client.peer(low ? turned : half + turned));
    }
    if (client.me.rank % 2 == 1) set.push_back(set.front());
    check_status(put("half", round), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(set, Infos().flag(PMIX_COLLECT_DATA)), PMIX_SUCCESS);
    for (const auto& member : set) check_equal(get(member, "half").u64(), round);
    check_status(fence(set), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Overlapping pairs (r, r+1), both of each rank open at once, and the whole job in between.
int overlapping(const Words&) {
  Client client;
  const auto next = client.peer((client.me.rank + 1) % client.size);
  const auto previous = client.peer((client.me.rank + client.size - 1) % client.size);
  for (int round = 0; round < 50; ++round) {
    const pmix_proc_t right[] = {client.me, next}, left[] = {client.me, previous};
    Waiter one, two, all;
    check_status(PMIx_Fence_nb(right, 2, nullptr, 0, Waiter::on_status, &one), PMIX_SUCCESS);
    check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &all), PMIX_SUCCESS);
    check_status(PMIx_Fence_nb(left, 2, nullptr, 0, Waiter::on_status, &two), PMIX_SUCCESS);
    check_status(one.wait(), PMIX_SUCCESS);
    check_status(two.wait(), PMIX_SUCCESS);
    check_status(all.wait(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The whole job under each of its names is one and the same operation.
int spellings(const Words&) {
  Client client;
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<pmix_proc_t> set;
    switch ((round + client.me.rank) % 4) {
      case 0:
        break;
      case 1:
        set = {client.job};
        break;
      case 2:
        for (pmix_rank_t r = 0; r < client.size; ++r) set.push_back(client.peer(r));
        break;
      case 3:
        set = {client.me, client.job};
        break;
    }
    check_status(fence(set), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank stays away from the first fence: all others are told in time, it itself when it comes, and
/// the next fence works for all.
int one_is_late(const Words& words) {
  Client client;
  const bool whole = words[0] == "whole";
  const bool nb = words[1] == "nb";
  const bool late = client.me.rank == client.size - 1;
  std::vector<pmix_proc_t> set;
  for (pmix_rank_t r = whole ? client.size : 1; r < client.size; ++r) set.push_back(client.peer(r));
  if (!whole && client.me.rank == 0) {
    check_status(fence(), PMIX_SUCCESS);
    client.finalize();
    return 0;
  }
  if (late) {
    await("go");
  } else if (nb) {
    Waiter waiter;
    const Infos infos = std::move(Infos().integer(PMIX_TIMEOUT, 1));
    check_status(PMIx_Fence_nb(set.empty() ? nullptr : set.data(), set.size(), infos.data(), infos.size(),
                               Waiter::on_status, &waiter),
                 PMIX_SUCCESS);
    check_status(waiter.wait(), PMIX_ERR_TIMEOUT);
  } else {
    check_status(fence(set, Infos().integer(PMIX_TIMEOUT, 1)), PMIX_ERR_TIMEOUT);
  }
  if (!late) say("timed out");
  if (late && whole) check_status(fence(), PMIX_ERR_TIMEOUT);  // it ended without this rank
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A timeout whose nanoseconds do not fit the clock is a long one, not one that has passed.
int patient(const Words& words) {
  Client client;
  std::vector<pmix_proc_t> set;
  if (words[0] == "set")
    for (pmix_rank_t r = 0; r + 1 < client.size; ++r) set.push_back(client.peer(r));
  const bool is_in = set.empty() || client.me.rank + 1 < client.size;
  for (const auto timeout : long_timeouts) {
    if (!is_in) break;
    const Infos infos = std::move(Infos().unsigned64(PMIX_TIMEOUT, timeout));
    Waiter waiter;
    if (client.me.rank == 0) await("come");  // the others are there, and wait
    if (client.me.rank == 1) say("here");
    check_status(fence(set, infos), PMIX_SUCCESS);
    if (client.me.rank == 0) await("come");
    check_status(PMIx_Fence_nb(set.empty() ? nullptr : set.data(), set.size(), infos.data(), infos.size(),
                               Waiter::on_status, &waiter),
                 PMIX_SUCCESS);
    if (client.me.rank == 1) say("here");
    check_status(waiter.wait(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Waits in a fence that cannot end well, and says how it ended.
int wait_in_fence(const Words& words) {
  Client client;
  std::vector<pmix_proc_t> set;
  if (words[0] == "set")
    for (pmix_rank_t r = 1; r < client.size; ++r) set.push_back(client.peer(r));
  say("ready");
  if (words.size() > 1) await("go");
  if (words[0] == "nb") {
    Waiter waiter;
    check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
    say(PMIx_Error_string(waiter.wait()));
  } else {
    say(PMIx_Error_string(fence(set)));
  }
  // And the next one: at once, not a wait for ever.
  say(PMIx_Error_string(fence(set)));
  say(PMIx_Error_string(PMIx_Finalize(nullptr, 0)));
  return 0;
}

/// Does not come to the fence: says so, and waits for its end or for the word to finalize.
int stay_away(const Words&) {
  Client client;
  say("ready");
  await("finalize");
  client.finalize();
  say("finalized");
  await("exit");
  return 0;
}

/// The cycle of a library that is initialized and finalized again and again in one process.
int reinit(const Words& words) {
  for (unsigned round = 0; round < std::stoul(words[0]); ++round) {
    Client client;
    check_status(put("round", std::uint64_t{round}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "round").u64(), round);
    check_status(fence(), PMIX_SUCCESS);
    client.finalize();
  }
  return 0;
}

/// A fence from inside the callback of another, which runs on the library's own thread.
struct Nested {
  Waiter over;
  static void on_end(pmix_status_t status, void* self) {
    check_status(status, PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    Waiter::on_status(status, &static_cast<Nested*>(self)->over);
  }
};
int fence_in_callback(const Words&) {
  Client client;
  Nested nested;
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Nested::on_end, &nested), PMIX_SUCCESS);
  check_status(nested.over.wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

}  // namespace

void add_fence_programs(Programs& programs) {
  programs.add("count_rounds", count_rounds);
  programs.add("many_open", many_open);
  programs.add("two_threads", two_threads);
  programs.add("halves", halves);
  programs.add("overlapping", overlapping);
  programs.add("spellings", spellings);
  programs.add("one_is_late", one_is_late);
  programs.add("patient", patient);
  programs.add("wait_in_fence", wait_in_fence);
  programs.add("stay_away", stay_away);
  programs.add("reinit", reinit);
  programs.add("fence_in_callback", fence_in_callback);
}

// ---- tests

class FenceTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};

INSTANTIATE_TEST_SUITE_P(Segment, FenceTest, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(FenceTest, consecutive_fences_never_mix) {
  all_run(GetParam(), 4, "count_rounds", {GetParam() == Segment::mapped ? "2500" : "250"});
}
TEST_P(FenceTest, several_open_at_once_end_in_order) {
  all_run(GetParam(), 4, "many_open");
}
TEST_P(FenceTest, two_threads_make_two_fences) {
  all_run(GetParam(), 3, "two_threads");
}
TEST_P(FenceTest, halves_of_a_job_in_any_order) {
  all_run(GetParam(), 4, "halves");
}
TEST_P(FenceTest, overlapping_sets) {
  all_run(GetParam(), 4, "overlapping");
}
TEST_P(FenceTest, whole_job_under_each_name) {
  all_run(GetParam(), 4, "spellings");
}
TEST_P(FenceTest, job_of_one) {
  all_run(GetParam(), 1, "count_rounds", {"50"});
}
TEST_P(FenceTest, from_inside_a_callback) {
  all_run(GetParam(), 2, "fence_in_callback");
}
TEST_P(FenceTest, again_after_finalize_and_init) {
  all_run(GetParam(), 3, "reinit", {"10"});
}

TEST_P(FenceTest, timeout_too_long_for_the_clock) {
  for (const auto& [ranks, kind] : {std::pair(2U, "whole"), std::pair(3U, "set")}) {
    Host host;
    host.add_job("job", ranks);
    auto children = start_all(host, GetParam(), "job", ranks, "patient", {kind});
    for (std::size_t call = 0; call < 2 * std::size(long_timeouts); ++call) {
      children[1].expect("here");
      children[0].tell("come");
    }
    expect_success(children);
  }
}

class FenceEndTest : public FenceTest {};
INSTANTIATE_TEST_SUITE_P(Segment, FenceEndTest, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

namespace {

void expect_time_out(Segment segment, const char* set, const char* style) {
  Host host;
  host.add_job("job", 4);
  auto children = start_all(host, segment, "job", 4, "one_is_late", {set, style});
  for (std::size_t i = std::string_view(set) == "whole" ? 0 : 1; i < 3; ++i) children[i].expect("timed out");
  children[3].tell("go");
  expect_success(children);
}

/// Rank 3 of 4 goes while the others wait for it, or before they come.
void expect_end(Segment segment, const Words& words, bool inside, bool by_finalize, const char* status) {
  Host host;
  host.add_job("job", 4);
  std::vector<Child> waiting;
  for (pmix_rank_t r = 0; r < 3; ++r) {
    auto how = words;
    if (!inside) how.push_back("when told");
    waiting.push_back(host.start("job", r, "wait_in_fence", how, reach(segment, r)));
  }
  auto last = host.start("job", 3, "stay_away", {}, reach(segment, 3));
  for (auto& child : waiting) child.expect("ready");
  last.expect("ready");
  if (by_finalize) {
    last.tell("finalize");
    last.expect("finalized");
  } else {
    last.kill();
    EXPECT_EQ(last.wait(), SIGKILL);
  }
  const bool with_first = words[0] != "set";
  for (std::size_t i = 0; i < 3; ++i) {
    if (!inside) waiting[i].tell("go");
    if (i == 0 && !with_first) continue;  // rank 0 is not in the set
    waiting[i].expect(status);
    waiting[i].expect(status);
    waiting[i].expect("PMIX_SUCCESS");
  }
  if (by_finalize) last.tell("exit");
  if (by_finalize) last.expect_success();
  for (std::size_t i = with_first ? 0 : 1; i < 3; ++i) waiting[i].expect_success();
}

}  // namespace

TEST_P(FenceEndTest, deadline_of_a_whole_job) {
  expect_time_out(GetParam(), "whole", "blocking");
}
TEST_P(FenceEndTest, deadline_of_a_whole_job_nb) {
  expect_time_out(GetParam(), "whole", "nb");
}
TEST_P(FenceEndTest, deadline_of_a_set) {
  expect_time_out(GetParam(), "set", "blocking");
}

TEST_P(FenceEndTest, killed_inside) {
  expect_end(GetParam(), {"whole"}, true, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(FenceEndTest, killed_inside_nb) {
  expect_end(GetParam(), {"nb"}, true, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(FenceEndTest, killed_before) {
  expect_end(GetParam(), {"whole"}, false, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(FenceEndTest, killed_set_inside) {
  expect_end(GetParam(), {"set"}, true, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(FenceEndTest, killed_set_before) {
  expect_end(GetParam(), {"set"}, false, false, "PMIX_ERR_PROC_ABORTED");
}
TEST_P(FenceEndTest, finalized_inside) {
  expect_end(GetParam(), {"whole"}, true, true, "PMIX_ERR_UNREACH");
}
TEST_P(FenceEndTest, finalized_before) {
  expect_end(GetParam(), {"whole"}, false, true, "PMIX_ERR_UNREACH");
}
TEST_P(FenceEndTest, finalized_set_inside) {
  expect_end(GetParam(), {"set"}, true, true, "PMIX_ERR_UNREACH");
}
TEST_P(FenceEndTest, finalized_set_before) {
  expect_end(GetParam(), {"set"}, false, true, "PMIX_ERR_UNREACH");
}

}  // namespace weft::test
