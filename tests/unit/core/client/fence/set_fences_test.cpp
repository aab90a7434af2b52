// SPDX-License-Identifier: BSD-3-Clause
// SetFences: which fences of a set are messages and which are at its board.
#include "core/client/fence/set_fences.hpp"

#include <thread>

#include "tests/unit/core/client/members.hpp"

namespace weft::client {
namespace {

using Procs = std::vector<pmix_proc_t>;

Procs ranks(std::initializer_list<std::uint32_t> list, const char* nspace = "job") {
  Procs out;
  for (const auto rank : list) out.push_back(link::make_proc(nspace, rank));
  return out;
}

Procs first_ranks(std::uint32_t n, std::uint32_t from = 0) {
  Procs out;
  for (std::uint32_t i = 0; i < n; ++i) out.push_back(link::make_proc("job", from + i));
  return out;
}

SetFences without_boards() {
  return SetFences([](const link::BoardOffer&) { return nullptr; });
}

// ---- arrays

TEST(ProcList, matches_the_same_array_only) {
  const auto procs = ranks({3, 1, 2});
  const ProcList list(procs);
  EXPECT_TRUE(list.matches(procs));
  EXPECT_FALSE(list.matches(ranks({3, 1})));
  EXPECT_FALSE(list.matches(ranks({3, 1, 2, 4})));
  EXPECT_FALSE(list.matches(ranks({1, 2, 3})));
  EXPECT_FALSE(list.matches(ranks({3, 1, 2}, "jo")));
  EXPECT_FALSE(list.matches(ranks({3, 1, 2}, "jobs")));
}

TEST(ProcList, namespaces_are_compared_where_they_stand) {
  Procs mixed = ranks({0}, "a");
  for (const auto* nspace : {"a", "b", "a", "b", "b"}) mixed.push_back(link::make_proc(nspace, 0));
  const ProcList list(mixed);
  EXPECT_TRUE(list.matches(mixed));
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    auto other = mixed;
    other[i] = link::make_proc(link::nspace_of(mixed[i]) == "a" ? "b" : "a", 0);
    EXPECT_FALSE(list.matches(other)) << i;
  }
}

TEST(SetFences, orders_and_repetitions_are_one_set) {
  auto sets = without_boards();
  const auto set = sets.find(ranks({0, 1, 2}));
  EXPECT_EQ(sets.find(ranks({0, 1, 2})), set);
  EXPECT_EQ(sets.find(ranks({2, 0, 1})), set);
  EXPECT_EQ(sets.find(ranks({2, 0, 1, 1})), set);
  EXPECT_NE(sets.find(ranks({0, 1})), set);
  EXPECT_NE(sets.find(ranks({0, 1, 2}, "other")), set);
}

TEST(SetFences, a_set_in_use_is_known_however_many_others_came) {
  auto sets = without_boards();
  const auto set = sets.find(ranks({7, 8}));
  for (std::uint32_t i = 0; i < 3 * SetFences::most_arrays; ++i)
    EXPECT_NE(sets.find(ranks({100 + i, 500})), set);
  EXPECT_EQ(sets.find(ranks({7, 8})), set);
  EXPECT_EQ(sets.find(ranks({8, 7})), set);
}

TEST(SetFences, the_array_used_last_is_kept_longest) {
  auto sets = without_boards();
  const std::weak_ptr<SetFence> often = sets.find(ranks({1, 2})), seldom = sets.find(ranks({3, 4}));
  for (std::uint32_t i = 0; i < 2 * SetFences::most_arrays; ++i) {
    (void)sets.find(ranks({100 + i, 500}));
    (void)sets.find(ranks({1, 2}));
  }
  EXPECT_FALSE(often.expired());
  EXPECT_TRUE(seldom.expired());
}

TEST(SetFences, what_it_keeps_is_bounded_in_processes) {
  auto sets = without_boards();
  EXPECT_EQ(sets.find(first_ranks(SetFences::most_procs + 1)), nullptr);
  const std::weak_ptr<SetFence> half = sets.find(first_ranks(SetFences::most_procs / 2));
  const std::weak_ptr<SetFence> rest = sets.find(first_ranks(SetFences::most_procs / 2, 1));
  EXPECT_FALSE(half.expired());
  const std::weak_ptr<SetFence> all = sets.find(first_ranks(SetFences::most_procs));
  EXPECT_TRUE(half.expired() && rest.expired());
  EXPECT_FALSE(all.expired());
}

// ---- message or board

/// One set of a member, and boards that the test offers.
struct OneSet {
  OneSet() : set(sets.find(ranks({0, 1}))) {}
  link::BoardOffer offer(store::Incarnation incarnation) {
    return {PMIX_SUCCESS, 7, incarnation, 0, b.board.open_generation()};
  }
  /// Enters; true: at the board.
  bool enter() {
    auto at = set->enter(false, [&] { ++sent; });
    if (at) tickets.push_back(*at);
    return at.has_value();
  }
  void end_all() {
    while (!tickets.empty()) {
      EXPECT_TRUE(b.board.abort(tickets.front().ticket.generation, {PMIX_ERR_TIMEOUT, 0}));
      EXPECT_EQ(tickets.front().board->wait(tickets.front().ticket, std::nullopt), PMIX_ERR_TIMEOUT);
      tickets.erase(tickets.begin());
    }
  }
  Wired wired;
  store::PoolBoard b{2};
  unsigned opened = 0, sent = 0;
  SetFences sets{[this](const link::BoardOffer& offer) {
    ++opened;
    return wired.at(b.board, offer.member, offer.board, offer.incarnation);
  }};
  std::shared_ptr<SetFence> set;
  std::vector<SetFence::AtBoard> tickets;
};

TEST(SetFence, the_first_fence_is_a_message_and_the_next_at_the_board) {
  OneSet one;
  EXPECT_FALSE(one.enter());
  EXPECT_EQ(one.sent, 1u);
  one.set->message_ended(one.offer(1));
  EXPECT_TRUE(one.enter());
  EXPECT_EQ(one.sent, 1u);
  one.end_all();
}

TEST(SetFence, without_an_offer_it_stays_with_messages) {
  OneSet one;
  for (unsigned i = 1; i < 4; ++i) {
    EXPECT_FALSE(one.enter());
    EXPECT_EQ(one.sent, i);
    one.set->message_ended(std::nullopt);
  }
}

TEST(SetFence, is_never_at_the_board_while_a_message_is_open) {
  OneSet one;
  EXPECT_FALSE(one.enter());
  EXPECT_FALSE(one.enter());
  one.set->message_ended(one.offer(1));
  EXPECT_FALSE(one.enter());  // the second is open
  one.set->message_ended(one.offer(1));
  EXPECT_EQ(one.opened, 0u);
  one.set->message_ended(one.offer(1));
  EXPECT_EQ(one.opened, 1u);
  EXPECT_TRUE(one.enter());
  one.end_all();
}

TEST(SetFence, a_closed_board_is_left_for_a_message) {
  OneSet one;
  (void)one.enter();
  one.set->message_ended(one.offer(1));
  ASSERT_TRUE(one.enter());
  EXPECT_FALSE(one.b.board.close(2));
  one.end_all();
  ASSERT_TRUE(one.b.board.close(2));
  EXPECT_FALSE(one.enter());
  EXPECT_EQ(one.sent, 2u);
  one.b.board.reopen(2, false, 2);
  EXPECT_FALSE(one.enter());  // the board of another set, now
  one.set->message_ended(std::nullopt);
  one.set->message_ended(one.offer(2));
  EXPECT_TRUE(one.enter());
  one.end_all();
}

TEST(SetFence, an_offer_that_makes_no_sense_is_no_board) {
  SetFences sets = without_boards();
  const auto set = sets.find(ranks({0, 1}));
  unsigned sent = 0;
  for (unsigned i = 1; i < 4; ++i) {
    EXPECT_FALSE(set->enter(false, [&] { ++sent; }));
    set->message_ended(link::BoardOffer{PMIX_SUCCESS, 999, 1, 0, 1});
    EXPECT_EQ(sent, i);
  }
}

TEST(SetFence, the_servers_word_reaches_the_board_of_that_number) {
  OneSet one;
  (void)one.enter();
  EXPECT_EQ(one.set->board(), nullptr);
  one.set->message_ended(one.offer(1));
  EXPECT_NE(one.set->board(7), nullptr);
  EXPECT_EQ(one.set->board(8), nullptr);
  EXPECT_NE(one.set->board(), nullptr);
}

// Two members that fence through arrays of two orders, while the server closes the board whenever it can and
// stands in for those that fence by message. Each fence must be matched by the other member's, and by no
// other.
TEST(SetFence, every_fence_is_matched_when_the_server_closes_the_board) {
  testing::Watchdog watchdog(110);
  store::PoolBoard b(2);
  std::atomic<store::Incarnation> incarnation{1};
  struct Member {
    explicit Member(store::PoolBoard& b, std::uint32_t me)
        : sets([this, &b, me](const link::BoardOffer& offer) {
            return std::make_shared<BoardFence>(
                BoardFence::Place{&b.board, offer.board, me, offer.incarnation, offer.next}, wired.control,
                wired.policy, wired.connection);
          }) {}
    Wired wired;
    SetFences sets;
  };
  Member members[2] = {Member(b, 0), Member(b, 1)};
  // The server: a mutex in the place of its thread. A message is entered at the board in its member's place.
  std::mutex server;
  std::uint64_t messages = 0, at_board = 0, closed = 0;
  const auto fence_by_message = [&](std::uint32_t me) {
    store::BoardMember::Entry entry{};
    std::unique_ptr<store::BoardMember> stand_in;
    {
      const std::lock_guard lock(server);
      ++messages;
      stand_in = std::make_unique<store::BoardMember>(b.board, me, incarnation, b.board.open_generation());
      const auto taken = stand_in->enter(false);
      if (!taken) std::abort();  // the member is at the board itself
      entry = *taken;
    }
    while (!stand_in->step(entry).status) std::this_thread::yield();
    stand_in->end(entry);
    return link::BoardOffer{PMIX_SUCCESS, 7, stand_in->incarnation(), me, entry.generation + 1};
  };
  const std::uint64_t total = testing::rounds(3'000);
  std::atomic<unsigned> running{2};
  std::atomic<std::uint64_t> ended[2] = {};
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < 2; ++me)
    threads.emplace_back([&, me] {
      for (std::uint64_t round = 1; round <= total; ++round) {
        const auto set = members[me].sets.find(round % 2 == 0 ? ranks({0, 1}) : ranks({1, 0}));
        const auto at = set->enter(false, [] {});
        if (at) {
          if (at->board->wait(at->ticket, std::nullopt) != PMIX_SUCCESS) std::abort();
        } else {
          set->message_ended(fence_by_message(me));
        }
        ended[me].store(round, std::memory_order_release);
        // A fence ends when the other has entered its own: neither is ahead by more than one.
        if (ended[1 - me].load(std::memory_order_acquire) + 1 < round) std::abort();
        if (at) {
          const std::lock_guard lock(server);
          ++at_board;
        }
      }
      --running;
    });
  testing::Random random;
  while (running.load() != 0) {
    const auto next = ended[0].load() + random.below(10);
    while (running.load() != 0 && ended[0].load() < next) std::this_thread::yield();
    const std::lock_guard lock(server);
    if (!b.board.close(2)) continue;
    ++closed;
    b.board.reopen(2, false, ++incarnation);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(messages + at_board, 2 * total);
  EXPECT_GT(closed, 0u);
  EXPECT_GT(at_board, 0u);
  RecordProperty("messages", static_cast<int>(messages));
  RecordProperty("closed", static_cast<int>(closed));
}

}  // namespace
}  // namespace weft::client
