// SPDX-License-Identifier: BSD-3-Clause
// Two real processes, and what is left when one of them is killed.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "tests/conformance/process.hpp"

namespace weft::conformance {
namespace {

class ProcessTest : public Conformance {
 protected:
  void SetUp() override {
    if (!GetParam().crosses_processes) GTEST_SKIP() << GetParam().name << " does not cross processes";
    Conformance::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(On, ProcessTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

/// A completion that counts its own ends: two of one and none of another would look right in a sum.
struct Counted {
  struct One : Completion {
    unsigned ends = 0;
    Errc error{};
    bool failed = false;
  };
  std::deque<One> all;
  Completion& next() {
    One& one = all.emplace_back();
    one.done = [](Completion& self, Result<void> outcome) noexcept {
      auto& ended = static_cast<One&>(self);
      ++ended.ends;
      ended.failed = !outcome;
      if (!outcome) ended.error = outcome.error().code;
    };
    return one;
  }
  void never_opened() { all.pop_back(); }
  bool all_ended() const {
    return std::all_of(all.begin(), all.end(), [](const One& one) { return one.ends != 0; });
  }
};

TEST_P(ProcessTest, messages_there_and_back_and_reads) {
  const auto a = open();
  ASSERT_TRUE(a);
  Child child;
  ASSERT_TRUE(child.start(GetParam().name, a->endpoint->address()));
  constexpr std::uint32_t count = 2000;
  Operations sent, gets;
  std::vector<std::vector<std::byte>> payloads;
  const auto peer = a->endpoint->reach(child.address);
  ASSERT_TRUE(peer);
  for (std::uint32_t i = 0; i < count; ++i) {
    payloads.push_back(pattern(4 + i * 37 % 900, i));
    std::memcpy(payloads.back().data(), &i, sizeof i);
    ASSERT_TRUE(send(*a, **peer, id_echo, {{}, payloads.back()}, sent.next(), {a.get()}));
  }
  ASSERT_TRUE(until({a.get()}, [&] { return sent.open() == 0 && a->received_count == count; }));
  EXPECT_TRUE(sent.errors.empty());
  std::vector<bool> came(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t number = count;
    ASSERT_GE(a->received[i].payload.size(), sizeof number);
    std::memcpy(&number, a->received[i].payload.data(), sizeof number);
    ASSERT_LT(number, count);
    EXPECT_EQ(a->received[i].payload, payloads[number]);
    EXPECT_FALSE(came[number]);
    came[number] = true;
    if (a->can().ordered) {
      ASSERT_EQ(number, i);
    }
  }

  const auto right = pattern(child_region_bytes, child_seed);
  std::vector<std::byte> target(child_region_bytes);
  const auto local = a->endpoint->expose(target);
  const auto key = a->endpoint->import_key(**peer, child.key);
  ASSERT_TRUE(local && key);
  for (std::size_t at = 0; at < target.size();) {
    const auto piece = std::min(target.size() - at, a->can().max_get);
    ASSERT_TRUE(get(*a, {**key, at}, {**local, at, piece}, gets.next(), {a.get()}));
    at += piece;
  }
  ASSERT_TRUE(until({a.get()}, [&] { return gets.open() == 0; }));
  EXPECT_TRUE(gets.errors.empty());
  EXPECT_TRUE(target == right);
}

TEST_P(ProcessTest, a_killed_process_ends_every_operation_once) {
  const auto a = open();
  ASSERT_TRUE(a);
  WEFT_NEEDS(detects_loss, *a);
  a->keeps = false;
  std::mt19937 random{std::random_device{}()};
  std::vector<std::byte> target(64 << 10);
  const auto bytes = pattern(500, 1);
  std::size_t lost = 0;
  Address before;
  for (int round = 0; round < 20; ++round) {
    const auto local = a->endpoint->expose(target);
    ASSERT_TRUE(local);
    Child child;
    ASSERT_TRUE(child.start(GetParam().name, a->endpoint->address()));
    EXPECT_NE(child.address.bytes, before.bytes) << "a restarted peer has another address";
    before = child.address;
    Counted operations;  // it outlives the peer, also when the test fails
    const auto peer = a->endpoint->reach(child.address);
    ASSERT_TRUE(peer);
    const auto key = a->endpoint->import_key(**peer, child.key);
    ASSERT_TRUE(key);
    // Once there and back, so that the connection stands; then any moment may be its last.
    const auto heard = a->received_count;
    ASSERT_TRUE(send(*a, **peer, id_echo, {{}, bytes}, operations.next(), {a.get()}));
    ASSERT_TRUE(until({a.get()}, [&] { return a->received_count > heard; })) << "round " << round;

    const std::size_t kill_after = 50 + random() % 3000, most = std::size_t{1} << 20;
    const auto most_of_a_get = std::min<std::size_t>(60'000, a->can().max_get);
    bool send_refused = false, get_refused = false;
    std::size_t tries = 0;
    const auto progress_and_try = [&] {
      if (++tries == kill_after) child.shoot();
      if (!send_refused && operations.all.size() < most) {
        const auto sent =
            a->endpoint->send(**peer, tries % 7 == 0 ? id_echo : id_count, {{}, bytes}, operations.next());
        if (!sent) operations.never_opened();
        send_refused = !sent && sent.error().code == Errc::peer_lost;
        EXPECT_TRUE(sent || send_refused || sent.error().code == Errc::again)
            << static_cast<int>(sent.error().code);
      }
      if (!get_refused && tries % 4 == 0 && operations.all.size() < most) {
        const auto got = a->endpoint->get({**key, tries % 1000}, {**local, 0, 1 + tries % most_of_a_get},
                                          operations.next());
        if (!got) operations.never_opened();
        get_refused = !got && got.error().code == Errc::peer_lost;
        EXPECT_TRUE(got || get_refused || got.error().code == Errc::again)
            << static_cast<int>(got.error().code);
      }
      return tries > kill_after && send_refused && get_refused;
    };
    ASSERT_TRUE(until({a.get()}, progress_and_try)) << "round " << round;
    ASSERT_TRUE(until({a.get()}, [&] { return operations.all_ended(); })) << "round " << round;
    for (int i = 0; i < 1000; ++i) a->endpoint->progress();
    for (const auto& one : operations.all) {
      ASSERT_EQ(one.ends, 1u);
      if (!one.failed) continue;
      ++lost;
      ASSERT_EQ(one.error, Errc::peer_lost) << "round " << round;
    }
  }
  RecordProperty("operations_lost", static_cast<int>(lost));
}

TEST_P(ProcessTest, one_that_was_gone_before_the_first_word) {
  const auto a = open();
  ASSERT_TRUE(a);
  Child child;
  ASSERT_TRUE(child.start(GetParam().name, a->endpoint->address()));
  child.kill();
  Counted operations;
  auto peer = a->endpoint->reach(child.address);
  if (!peer) {  // said at once
    EXPECT_EQ(peer.error().code, Errc::peer_lost);
    return;
  }
  const auto sent = send(*a, **peer, id_count, {{}, {}}, operations.next(), {a.get()});
  if (!sent) {
    EXPECT_EQ(sent.error().code, Errc::peer_lost);
    return;
  }
  if (a->can().detects_loss) {
    ASSERT_TRUE(until({a.get()}, [&] { return operations.all_ended(); }));
    EXPECT_TRUE(operations.all[0].failed && operations.all[0].error == Errc::peer_lost);
  } else {
    // The peer and then the endpoint leave with the word unsaid, and this process lives on.
    for (int i = 0; i < 1000; ++i) a->endpoint->progress();
    peer->reset();
    for (int i = 0; i < 1000; ++i) a->endpoint->progress();
  }
  EXPECT_EQ(operations.all[0].ends, 1u);
}

}  // namespace
}  // namespace weft::conformance
