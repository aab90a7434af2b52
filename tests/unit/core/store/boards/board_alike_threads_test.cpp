// SPDX-License-Identifier: BSD-3-Clause
// Boards of groups under threads, one of which is the server and dissolves them at any moment; and under
// processes, one of which is killed.
#include <csignal>
#include <thread>
#include <vector>

#include "core/store/boards/group_ledger.hpp"
#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

constexpr std::int32_t by_message = -3;
constexpr std::uint32_t members = 4;

const shm::WaitPolicy policies[] = {
    shm::WaitPolicy::for_waiters(64, 2),
    {.spin = std::chrono::microseconds{0}, .yield = std::chrono::microseconds{0}}};

/// A member's whole operation; nothing: the board is closed.
std::optional<pmix_status_t> meet(BoardMember& member, std::uint64_t tag, const shm::WaitPolicy& policy,
                                  std::atomic<bool>& is_full) {
  auto entry = member.enter({}, tag);
  if (!entry) return std::nullopt;
  std::optional<pmix_status_t> status;
  shm::wait_until(
      member.board().waiting(), policy, forever,
      [&] {
        const auto step = member.step(*entry);
        if (step.owed == BoardMember::Owed::exchange) is_full = true;
        status = step.status;
        return status.has_value();
      },
      [] { return true; });
  member.end(*entry);
  return status;
}

struct alignas(64) Plain {
  std::uint64_t value = 0;
};

// An operation orders data that has no order of its own; the ledger's records are such data, too. All
// members read the same ends, and the server knows exactly which have succeeded.
TEST(BoardAlikeThreads, members_and_server_agree_on_every_end) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  testing::ExactBlock records(sizeof(GroupLedger));
  auto& ledger = GroupLedger::at(records.get());
  PoolBoard b(members);
  Incarnation incarnation = 1;
  const testing::Rounds rounds(2'000);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    const auto start = b.board.open_generation();
    ledger.set_read(start - 1);
    const auto seed = random.any();
    std::vector<Plain> data(members);
    std::vector<std::uint64_t> succeeded(members);
    std::atomic<bool> is_full{false};
    std::atomic<unsigned> faults{0}, left{members};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
      threads.emplace_back([&, me] {
        BoardMember member(b.board, me, incarnation, start, members);
        std::mt19937_64 own(seed + me);
        for (std::uint64_t i = 0;; ++i) {
          const auto g = start + static_cast<Generation>(i);
          const bool has_room = me != 0 || ledger.write(g, GroupAct::made, "group " + std::to_string(i));
          const bool errs = !has_room || own() % 200 == 0;
          const auto tag = errs ? 2 * i + 2 : 2 * i + 1;
          if (i % 2 == 0) data[me].value = i;
          const auto end = meet(member, tag, policies[round % 2], is_full);
          if (!end || *end != PMIX_SUCCESS) {
            if (end && *end != by_message) ++faults;
            break;
          }
          ++succeeded[me];
          for (const auto& other : data)
            if (i % 2 == 0 && other.value != i) ++faults;
        }
        --left;
      });
    std::vector<std::string> names;
    auto read = start - 1;
    const auto read_to = [&](Generation end) {
      for (; read + 1 != end; ++read) names.push_back(ledger.read(read + 1).value_or(GroupRecord{}).name);
      ledger.set_read(read);
    };
    for (auto looks = random.below(300); looks != 0 && !is_full; --looks) {
      if (looks % 8 == 0) read_to(b.board.open_generation());
      std::this_thread::yield();
    }
    const auto first_failed = b.board.dissolve(by_message);
    read_to(first_failed);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(faults.load(), 0u);
    for (const auto count : succeeded) ASSERT_EQ(count, first_failed - start);
    ASSERT_EQ(names.size(), first_failed - start);
    for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i], "group " + std::to_string(i));
    ASSERT_TRUE(b.board.close(members));
    b.board.reopen(members, false, ++incarnation);
  }
}

// Where other nodes take part the server ends each generation: what it reads of a full one is of that one,
// and of all members. The server dissolves the board between arrivals or when it is full.
TEST(BoardAlikeThreads, the_server_reads_the_tags_of_the_full_generation) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  testing::ExactBlock records(sizeof(GroupLedger));
  auto& ledger = GroupLedger::at(records.get());
  PoolBoard b(members);
  Incarnation incarnation = 1;
  const testing::Rounds rounds(1'000);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    ASSERT_TRUE(b.board.close(members));
    b.board.reopen(members, true, ++incarnation);
    const auto start = b.board.open_generation();
    ledger.set_read(start - 1);
    const auto name_of = [](Generation i) { return "group " + std::to_string(i); };
    std::vector<Generation> succeeded(members);
    std::atomic<bool> is_full{false};
    std::atomic<unsigned> faults{0};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
      threads.emplace_back([&, me] {
        BoardMember member(b.board, me, incarnation, start, members);
        for (Generation i = 0;; ++i) {
          if (me == 0 && !ledger.write(start + i, GroupAct::made, name_of(i))) ++faults;
          const auto end = meet(member, tag_of(GroupAct::made, name_of(i)), policies[round % 2], is_full);
          if (end && *end != PMIX_SUCCESS && *end != by_message) ++faults;
          if (!end || *end != PMIX_SUCCESS) break;
          ++succeeded[me];
        }
      });
    auto open = start;
    for (auto looks = random.below(300); looks != 0; --looks) {
      if (b.board.arrived_count() != members) {
        std::this_thread::yield();
        continue;
      }
      const auto name = name_of(open - start);
      EXPECT_EQ(b.board.common_tag(members), tag_of(GroupAct::made, name));
      EXPECT_EQ(ledger.read(open).value_or(GroupRecord{}).name, name);
      ledger.set_read(open);
      if (random.below(50) == 0) break;
      EXPECT_TRUE(b.board.complete(open++));
    }
    EXPECT_EQ(b.board.dissolve(by_message), open);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(faults.load(), 0u);
    for (const auto count : succeeded) ASSERT_EQ(count, open - start);
  }
}

// Killed at any instruction: the others have the server dissolve the board, let go, and the next set meets
// there.
TEST(BoardAlikeProcesses, survivors_of_a_killed_member_let_go) {
  if (testing::thread_sanitized) GTEST_SKIP() << "tsan does not see across processes";
  testing::Watchdog watchdog(110);
  testing::Random random;
  testing::SharedBlock memory(Board::footprint(members));
  auto& board = ServerBoard::at(memory.get());
  Incarnation incarnation = 0;
  const testing::Rounds rounds(100);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    board.reopen(members, false, ++incarnation);
    const auto start = board.open_generation();
    const auto victim = static_cast<std::uint32_t>(random.below(members));
    std::vector<pid_t> children;
    for (std::uint32_t me = 0; me < members; ++me)
      children.push_back(testing::start_child([&, me] {
        BoardMember member(board, me, incarnation, start, members);
        std::atomic<bool> is_full{false};
        for (std::uint64_t i = 1;; ++i)
          if (const auto end = meet(member, i, policies[round % 2], is_full); *end != PMIX_SUCCESS)
            return *end == by_message;
      }));
    const auto after = start + static_cast<Generation>(1 + random.below(50));
    while (static_cast<std::int32_t>(board.open_generation() - after) < 0) std::this_thread::yield();
    for (auto spins = random.below(3000); spins != 0; --spins) shm::cpu_relax();
    ASSERT_EQ(::kill(children[victim], SIGKILL), 0);
    (void)testing::reap(children[victim]);
    (void)board.dissolve(by_message);
    board.forget_hold(victim, by_message);
    for (std::uint32_t me = 0; me < members; ++me)
      if (me != victim) {
        ASSERT_TRUE(testing::ended_well(testing::reap(children[me])));
      }
    ASSERT_TRUE(board.close(members));
  }
}

}  // namespace
}  // namespace weft::store
