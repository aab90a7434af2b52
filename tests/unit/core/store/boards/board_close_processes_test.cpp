// SPDX-License-Identifier: BSD-3-Clause
// Members as processes at a board that is closed and reopened, some of them killed.
#include <csignal>
#include <thread>
#include <vector>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t most = 4;
constexpr std::int32_t died = -7;

struct Shared {
  Shared() : memory(Board::footprint(most)), board(ServerBoard::at(memory.get())) {}
  testing::SharedBlock memory;
  ServerBoard& board;
};

/// Says how far a child came before it was killed.
enum class Point { before_hold, held, arrived, ended, let_go };

/// Goes as far as `point`, alone at a board of two, and is killed there.
pid_t killed_at(ServerBoard& board, Incarnation incarnation, Point point) {
  return testing::start_child([&] {
    const auto g = board.open_generation();
    const auto die = [] { return ::kill(::getpid(), SIGKILL) == 0; };
    if (point == Point::before_hold) return die();
    if (!board.hold(0, incarnation)) return false;
    if (point == Point::held) return die();
    (void)board.arrive(0, g, false, incarnation);
    if (point == Point::arrived) return die();
    while (board.outcome(g) == Board::Outcome::open) std::this_thread::yield();
    if (point == Point::ended) return die();
    board.let_go(0, incarnation);
    return die();
  });
}

// Wherever it dies: until the server knows, the board stays open if it was held; afterwards it serves the
// next set.
TEST(BoardCloseProcesses, a_member_killed_anywhere_does_not_keep_the_board) {
  testing::Watchdog watchdog;
  Shared shared;
  Incarnation incarnation = 0;
  for (const auto point : {Point::before_hold, Point::held, Point::arrived, Point::ended, Point::let_go}) {
    SCOPED_TRACE(static_cast<int>(point));
    shared.board.reopen(2, false, ++incarnation);
    const auto g = shared.board.open_generation();
    const auto child = killed_at(shared.board, incarnation, point);
    if (point >= Point::ended) {
      while (shared.board.arrived_count() != 1) std::this_thread::yield();
      EXPECT_EQ(shared.board.arrive(1, g, false, incarnation), Board::Arrival::completed);
    }
    EXPECT_TRUE(WIFSIGNALED(testing::reap(child)));
    const bool holds = point != Point::before_hold && point != Point::let_go;
    EXPECT_EQ(shared.board.close(2), !holds);
    shared.board.lose(0, died);
    EXPECT_TRUE(shared.board.close(2));

    shared.board.reopen(2, false, ++incarnation);
    std::vector<pid_t> children;
    const auto next = shared.board.open_generation();
    for (std::uint32_t me = 0; me < 2; ++me)
      children.push_back(testing::start_child([&, me] {
        BoardMember member(shared.board, me, incarnation, next);
        return fence(member, shm::WaitPolicy::for_waiters(2, 2)) == PMIX_SUCCESS;
      }));
    for (const auto pid : children) EXPECT_TRUE(testing::ended_well(testing::reap(pid)));
    EXPECT_TRUE(shared.board.close(2));
  }
}

// Killed at any instruction while it fences with others: they read the server's verdict and let go, and the
// board goes on with another set.
TEST(BoardCloseProcesses, survivors_let_go_and_the_next_set_meets) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  const shm::WaitPolicy policies[] = {
      shm::WaitPolicy::for_waiters(most, 2),
      {.spin = std::chrono::microseconds{0}, .yield = std::chrono::microseconds{0}}};
  Shared shared;
  Incarnation incarnation = 0;
  const testing::Rounds rounds(100);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    const auto& policy = policies[round % 2];
    const auto members = static_cast<std::uint32_t>(2 + random.below(most - 1));
    shared.board.reopen(members, false, ++incarnation);
    const auto start = shared.board.open_generation();
    const auto victim = static_cast<std::uint32_t>(random.below(members));
    std::vector<pid_t> children;
    for (std::uint32_t me = 0; me < members; ++me)
      children.push_back(testing::start_child([&, me] {
        BoardMember member(shared.board, me, incarnation, start);
        for (;;)
          if (const auto status = fence(member, policy); status != PMIX_SUCCESS) return status == died;
      }));
    const auto after = start + static_cast<Generation>(1 + random.below(50));
    while (shared.board.open_generation() < after) std::this_thread::yield();
    for (auto spins = random.below(3000); spins != 0; --spins) shm::cpu_relax();
    ASSERT_EQ(::kill(children[victim], SIGKILL), 0);
    (void)testing::reap(children[victim]);
    shared.board.lose(victim, died);
    for (std::uint32_t me = 0; me < members; ++me)
      if (me != victim) {
        ASSERT_TRUE(testing::ended_well(testing::reap(children[me])));
      }
    ASSERT_TRUE(shared.board.close(members));
  }
}

}  // namespace
}  // namespace weft::store
