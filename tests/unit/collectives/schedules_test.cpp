// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm for every number of members: all of them run against each other, with contributions of
// uneven and of no length.
#include "collectives/schedules/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::collectives {
namespace {

constexpr std::uint32_t most_members = 300;

using Make = std::function<Schedule(std::uint32_t n, Index me)>;

/// Ceiling of the logarithm: how many times n members fit into powers of base. base: 2 or more.
constexpr std::uint32_t rounds_for(std::uint32_t n, std::uint32_t base) noexcept {
  std::uint32_t rounds = 0;
  for (std::uint64_t reach = 1; reach < n; reach *= base) ++rounds;
  return rounds;
}

struct Totals {
  std::uint64_t messages = 0, bytes = 0;
  std::uint32_t rounds = 0;  ///< of the member with the most steps
};

/// Runs all members, in an order that the seed picks: a member sends when it comes to a step, and goes on
/// when what the step receives is there. Checks what may be sent, and that each block arrives once.
class Play {
 public:
  Play(std::uint32_t n, const Make& make, unsigned seed)
      : n_(n), random_(seed), members_(n), lengths_(n), arrived_(std::size_t{n} * n) {
    for (std::uint32_t i = 0; i < n; ++i) {
      members_[i].schedule = make(n, Index(i));
      members_[i].has.assign(n, false);
      members_[i].has[i] = true;
      lengths_[i] = random_() % 4 == 0 ? 0 : random_() % 1000;
      totals_.rounds = std::max(totals_.rounds, static_cast<std::uint32_t>(members_[i].schedule.size()));
    }
  }
  /// Empty: all went well.
  std::string run() {
    std::vector<std::uint32_t> order(n_);
    for (std::uint32_t i = 0; i < n_; ++i) order[i] = i;
    for (bool moved = true; moved && why_.empty();) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random_);
      for (const auto i : order) moved |= step(i);
    }
    for (std::uint32_t i = 0; i < n_ && why_.empty(); ++i)
      if (members_[i].at != members_[i].schedule.size())
        why_ = "member " + std::to_string(i) + " waits for ever";
    for (const auto& [pair, messages] : wires_)
      if (!messages.empty() && why_.empty()) why_ = "a message that no member receives";
    return why_;
  }
  bool all_have_all() const {
    for (const auto& member : members_)
      for (const bool has : member.has)
        if (!has) return false;
    return true;
  }
  /// Something that each member knew when it came has reached each.
  bool all_have_heard_of_all() const {
    for (const auto& member : members_)
      for (std::uint32_t j = 0; j < n_; ++j)
        if (!member.heard.contains(j)) return false;
    return true;
  }
  const Totals& totals() const { return totals_; }
  std::uint64_t all_bytes() const {
    std::uint64_t sum = 0;
    for (const auto length : lengths_) sum += length;
    return sum;
  }
  const std::vector<std::uint64_t>& lengths() const { return lengths_; }

 private:
  struct Set {
    std::vector<std::uint64_t> words;
    void insert(std::uint32_t i) {
      if (words.size() <= i / 64) words.resize(i / 64 + 1);
      words[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    bool contains(std::uint32_t i) const {
      return i / 64 < words.size() && (words[i / 64] >> (i % 64) & 1) != 0;
    }
    void join(const Set& other) {
      if (words.size() < other.words.size()) words.resize(other.words.size());
      for (std::size_t w = 0; w < other.words.size(); ++w) words[w] |= other.words[w];
    }
  };
  struct Message {
    Blocks blocks;
    Set heard;
  };
  struct Member {
    Schedule schedule;
    std::size_t at = 0, received = 0;
    bool has_sent = false;
    std::vector<bool> has;
    Set heard;
  };
  std::deque<Message>& wire(std::uint32_t from, std::uint32_t to) {
    return wires_[std::uint64_t{from} << 32 | to];
  }
  void fail(std::uint32_t member, const std::string& what) {
    if (why_.empty())
      why_ =
          "member " + std::to_string(member) + ", step " + std::to_string(members_[member].at) + ": " + what;
  }

  bool step(std::uint32_t i) {
    Member& me = members_[i];
    if (me.at == me.schedule.size()) return false;
    me.heard.insert(i);
    const Step& step = me.schedule[me.at];
    bool moved = false;
    if (!me.has_sent) {
      for (const auto& transfer : step.sends) send(i, me, transfer);
      me.has_sent = moved = true;
    }
    while (me.received < step.receives.size()) {
      const auto& transfer = step.receives[me.received];
      auto& messages = wire(number(transfer.peer), i);
      if (messages.empty()) return moved;
      receive(i, me, transfer, messages.front());
      messages.pop_front();
      ++me.received;
      moved = true;
    }
    for (const auto& transfer : step.receives)
      for (std::uint32_t b = 0; b < transfer.blocks.count; ++b)
        me.has[(number(transfer.blocks.first) + b) % n_] = true;
    ++me.at;
    me.received = 0;
    me.has_sent = false;
    return true;
  }
  void send(std::uint32_t i, const Member& me, const PeerBlocks& transfer) {
    const auto to = number(transfer.peer);
    if (to >= n_ || to == i) return fail(i, "sends to no other member");
    ++totals_.messages;
    for (std::uint32_t b = 0; b < transfer.blocks.count; ++b) {
      const auto block = (number(transfer.blocks.first) + b) % n_;
      totals_.bytes += lengths_[block];
      if (!me.has[block]) fail(i, "sends block " + std::to_string(block) + ", which it has not received yet");
    }
    wire(i, to).push_back({transfer.blocks, me.heard});
  }
  void receive(std::uint32_t i, Member& me, const PeerBlocks& transfer, const Message& message) {
    if (message.blocks != transfer.blocks) return fail(i, "receives other blocks than were sent");
    for (std::uint32_t b = 0; b < transfer.blocks.count; ++b) {
      const auto block = (number(transfer.blocks.first) + b) % n_;
      if (std::exchange(arrived_[std::size_t{i} * n_ + block], 1) != 0 || block == i)
        fail(i, "receives block " + std::to_string(block) + " twice");
    }
    me.heard.join(message.heard);
  }

  std::uint32_t n_;
  std::mt19937 random_;
  std::vector<Member> members_;
  std::vector<std::uint64_t> lengths_;
  std::map<std::uint64_t, std::deque<Message>> wires_;
  std::vector<char> arrived_;  // by member and block
  Totals totals_;
  std::string why_;
};

std::vector<std::uint32_t> sizes() {
  std::vector<std::uint32_t> out;
  // Under a sanitizer every eleventh beyond the small ones: what is wrong with memory is wrong at those, too.
  for (std::uint32_t n = 1; n <= most_members; n += testing::sanitized && n > 40 ? 11 : 1) out.push_back(n);
  return out;
}

TEST(Dissemination, every_node_hears_of_every_other) {
  for (const std::uint32_t ports : {1u, 2u, 3u, 7u}) {
    for (const auto n : sizes()) {
      Play play(
          n, [&](std::uint32_t members, Index me) { return dissemination(members, me, ports); }, n);
      ASSERT_EQ(play.run(), "") << n << " members, " << ports << " ports";
      ASSERT_TRUE(n == 1 || play.all_have_heard_of_all()) << n << " members, " << ports << " ports";
      EXPECT_EQ(play.totals().rounds, rounds_for(n, ports + 1));
      EXPECT_LE(play.totals().messages, std::uint64_t{n} * ports * rounds_for(n, ports + 1));
      if (ports == 1) {
        EXPECT_EQ(play.totals().messages, std::uint64_t{n} * rounds_for(n, 2));
      }
      EXPECT_EQ(play.totals().bytes, 0u);
    }
  }
}

/// What every allgatherv promises; the formulas of each are checked by the caller.
Totals gathers(std::uint32_t n, const Make& make, std::uint64_t& all_bytes) {
  Play play(n, make, n);
  const auto why = play.run();
  EXPECT_EQ(why, "") << n << " members";
  EXPECT_TRUE(play.all_have_all()) << n << " members";
  all_bytes = play.all_bytes();
  return play.totals();
}

TEST(Bruck, all_blocks_once_in_log2_rounds) {
  for (const auto n : sizes()) {
    std::uint64_t all = 0;
    const auto totals = gathers(n, bruck, all);
    ASSERT_FALSE(HasFailure()) << n;
    EXPECT_EQ(totals.rounds, rounds_for(n, 2));
    EXPECT_EQ(totals.messages, std::uint64_t{n} * rounds_for(n, 2));
    EXPECT_EQ(totals.bytes, (n - 1) * all);
  }
}

TEST(RecursiveDoubling, all_blocks_once_in_log2_rounds_and_two_for_the_rest) {
  for (const auto n : sizes()) {
    std::uint64_t all = 0;
    const auto totals = gathers(n, recursive_doubling, all);
    ASSERT_FALSE(HasFailure()) << n;
    const auto power = std::bit_floor(n), rest = n - power;
    const auto doublings = rounds_for(power, 2);
    EXPECT_EQ(totals.rounds, doublings + (rest == 0 ? 0 : 2));
    EXPECT_EQ(totals.messages, std::uint64_t{power} * doublings + 2 * rest);
    EXPECT_EQ(totals.bytes, (n - 1) * all);
  }
}

TEST(Ring, all_blocks_once_each_from_the_neighbour) {
  for (const auto n : sizes()) {
    std::uint64_t all = 0;
    const auto totals = gathers(n, ring, all);
    ASSERT_FALSE(HasFailure()) << n;
    EXPECT_EQ(totals.rounds, n - 1);
    EXPECT_EQ(totals.messages, std::uint64_t{n} * (n - 1));
    EXPECT_EQ(totals.bytes, (n - 1) * all);
  }
}

/// Levels below the first member of a range of n, where each child gets an equal share.
std::uint32_t depth(std::uint32_t n, std::uint32_t arity) {
  std::uint32_t levels = 0;
  for (; n > 1; ++levels) n = (n - 1 + arity - 1) / arity;
  return levels;
}

TEST(Tree, all_blocks_once_up_and_down) {
  for (const std::uint32_t arity : {1u, 2u, 3u, 4u, 16u, 1000u}) {
    for (const std::uint32_t chunks : {1u, 2u, 5u}) {
      for (const auto n : sizes()) {
        if (arity == 1 && n > 60) break;  // a chain: n levels
        std::uint64_t all = 0;
        const auto totals = gathers(
            n, [&](std::uint32_t members, Index me) { return tree(members, me, arity, chunks); }, all);
        ASSERT_FALSE(HasFailure()) << n << " members, arity " << arity << ", " << chunks << " chunks";
        if (chunks == 1) {
          EXPECT_EQ(totals.messages, 2 * std::uint64_t{n - 1});
        }
        EXPECT_GE(totals.messages, 2 * std::uint64_t{n - 1});
        EXPECT_LE(totals.messages, std::uint64_t{n - 1} * (1 + chunks + 1));
      }
    }
  }
}

/// Up: each block once for each level that its member is below the first. Down: what is missing, once.
TEST(Tree, bytes_and_levels) {
  for (const std::uint32_t arity : {2u, 4u}) {
    for (const auto n : sizes()) {
      const auto make = [&](std::uint32_t members, Index me) { return tree(members, me, arity, 1); };
      Play play(n, make, n);
      ASSERT_EQ(play.run(), "");
      std::uint64_t up = 0, down = 0;
      std::uint32_t deepest = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        // The way up, read out of the schedules themselves.
        std::uint32_t levels = 0;
        for (std::uint32_t at = i; at != 0; ++levels) {
          std::uint32_t parent = at;
          for (const auto& step : make(n, Index(at)))
            for (const auto& transfer : step.sends)
              if (number(transfer.peer) < at) parent = number(transfer.peer);
          ASSERT_LT(parent, at);
          at = parent;
        }
        up += levels * play.lengths()[i];
        deepest = std::max(deepest, levels);
      }
      EXPECT_EQ(deepest, depth(n, arity)) << n;
      for (std::uint32_t i = 0; i < n; ++i)
        for (const auto& step : make(n, Index(i)))
          for (const auto& transfer : step.receives)
            if (number(transfer.peer) < i)
              for (std::uint32_t b = 0; b < transfer.blocks.count; ++b)
                down += play.lengths()[(number(transfer.blocks.first) + b) % n];
      EXPECT_EQ(play.totals().bytes, up + down) << n;
    }
  }
}

TEST(Schedules, one_member_has_nothing_to_do) {
  for (const auto& schedule : {dissemination(1, Index{}, 1), bruck(1, Index{}),
                               recursive_doubling(1, Index{}), ring(1, Index{}), tree(1, Index{}, 4, 3)})
    EXPECT_TRUE(schedule.empty());
}

}  // namespace
}  // namespace weft::collectives
