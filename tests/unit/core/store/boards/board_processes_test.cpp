// SPDX-License-Identifier: BSD-3-Clause
// Members as processes on a memfd, some of them killed.
#include <csignal>
#include <vector>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t most = 8;

/// Beside the board: what each member wrote last, and how far it came.
struct Members {
  struct alignas(64) One {
    std::uint64_t value;
    std::atomic<Generation> good;
    std::atomic<std::int32_t> end;
  } one[most];
};

struct Job {
  explicit Job(std::uint32_t count)
      : memory(Board::footprint(most) + sizeof(Members)),
        board(ServerBoard::create(memory.get(), count, false)),
        members(*new (memory.get() + Board::footprint(most)) Members) {}
  testing::SharedBlock memory;
  ServerBoard& board;
  Members& members;
};

TEST(BoardProcesses, eight_processes_meet_two_thousand_times) {
  testing::Watchdog watchdog(110);
  const auto policy = shm::WaitPolicy::for_waiters(most, 2);
  const std::uint64_t total = testing::rounds(2000);
  Job job(most);
  std::vector<pid_t> children;
  for (std::uint32_t me = 0; me < most; ++me)
    children.push_back(testing::start_child([&] {
      Generation g = 1;
      for (std::uint64_t round = 1; round <= total; ++round) {
        job.members.one[me].value = round * most + me;
        if (enter(job.board, me, g++, policy) != 0) return false;
        for (std::uint32_t other = 0; other < most; ++other)
          if (job.members.one[other].value != round * most + other) return false;
        if (enter(job.board, me, g++, policy) != 0) return false;
      }
      return true;
    }));
  for (const auto child : children) EXPECT_TRUE(testing::ended_well(testing::reap(child)));
  EXPECT_EQ(job.board.open_generation(), 2 * total + 1);
  EXPECT_EQ(job.board.waiting().sleepers.load(), 0u);
}

/// Fences until one does not succeed; says which was the last good one, and what ended the next.
bool until_the_end(Job& job, std::uint32_t me, const shm::WaitPolicy& policy) {
  auto& mine = job.members.one[me];
  for (Generation g = job.board.open_generation();; ++g) {
    const auto end = enter(job.board, me, g, policy);
    if (end != 0) return mine.end.store(end), true;
    mine.good.store(g);
  }
}

// Wherever the member is when it is killed - before its cell, between cell and count, between count and wake,
// asleep - the server's lose() lets the others go, all from the same generation, and with its verdict.
TEST(BoardProcesses, a_member_killed_in_a_fence_lets_the_others_go) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  constexpr std::uint32_t members = 4;
  const shm::WaitPolicy policies[] = {
      shm::WaitPolicy::for_waiters(members, 2),
      {.spin = std::chrono::microseconds{0}, .yield = std::chrono::microseconds{0}}};
  const testing::Rounds rounds(200);
  for (unsigned kill = 0; rounds.go_on(kill, 1); ++kill) {
    Job job(members);
    const auto victim = static_cast<std::uint32_t>(random.below(members));
    pid_t children[members];
    for (std::uint32_t me = 0; me < members; ++me)
      children[me] = testing::start_child([&] { return until_the_end(job, me, policies[kill % 2]); });
    const auto after = static_cast<Generation>(1 + random.below(100));
    while (job.board.open_generation() < after) std::this_thread::yield();
    for (auto spins = random.below(3000); spins != 0; --spins) shm::cpu_relax();
    ASSERT_EQ(::kill(children[victim], SIGKILL), 0);
    (void)testing::reap(children[victim]);
    job.board.lose(victim, -7);

    Generation good = 0;
    for (std::uint32_t me = 0; me < members; ++me) {
      if (me == victim) continue;
      ASSERT_TRUE(testing::ended_well(testing::reap(children[me])));
      ASSERT_EQ(job.members.one[me].end.load(), -7);
      if (good == 0) good = job.members.one[me].good.load();
      ASSERT_EQ(job.members.one[me].good.load(), good);
      ASSERT_EQ(job.board.verdict(good + 1).member, victim);
    }

    // A new process takes its place, the survivors come again: the board is as good as new.
    job.board.rejoin(victim);
    const auto next = job.board.open_generation();
    for (auto& child : children) {
      const auto me = static_cast<std::uint32_t>(&child - children);
      child = testing::start_child([&, me] { return enter(job.board, me, next, policies[kill % 2]) == 0; });
    }
    for (const auto child : children) ASSERT_TRUE(testing::ended_well(testing::reap(child)));
  }
}

// The last arriver dies before its wake: those asleep look again after their slice.
TEST(BoardProcesses, a_member_killed_before_its_wake_is_not_waited_for) {
  testing::Watchdog watchdog;
  const shm::WaitPolicy policy{.spin = std::chrono::microseconds{0},
                               .yield = std::chrono::microseconds{0},
                               .slice = std::chrono::milliseconds{5}};
  Job job(2);
  const auto sleeper = testing::start_child([&] { return enter(job.board, 0, 1, policy) == 0; });
  while (job.board.waiting().sleepers.load() == 0) std::this_thread::yield();
  const auto last = testing::start_child([&] {
    return job.board.arrive(1, 1) == Board::Arrival::completed && ::kill(::getpid(), SIGKILL) == 0;
  });
  EXPECT_TRUE(WIFSIGNALED(testing::reap(last)));
  EXPECT_TRUE(testing::ended_well(testing::reap(sleeper)));
}

}  // namespace
}  // namespace weft::store
