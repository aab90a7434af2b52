// SPDX-License-Identifier: BSD-3-Clause
// How operations end that do not end well: canceled by their owner, or with their peer gone.
#include <malloc.h>

#include <filesystem>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

class EndTest : public Conformance {};
INSTANTIATE_TEST_SUITE_P(On, EndTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(EndTest, an_endpoint_that_closes_ends_all_of_its_operations) {
  const auto b = open();
  ASSERT_TRUE(b);
  auto source = pattern(1 << 16, 1);
  std::vector<std::byte> target(1 << 16);
  const auto exposed = b->endpoint->expose(source);
  ASSERT_TRUE(exposed);
  Operations& operations = new_operations();
  {
    const auto a = open();
    ASSERT_TRUE(a);
    const auto local = a->endpoint->expose(target);
    ASSERT_TRUE(local);
    const auto peer = reach(*a, *b);
    const auto key = a->endpoint->import_key(*peer, (*exposed)->packed_key());
    ASSERT_TRUE(key);
    for (int i = 0; i < 20; ++i) {
      const auto sent = a->endpoint->send(*peer, 1, {{}, Bytes(source).first(1024)}, operations.next());
      if (!sent) operations.all.pop_back();
      const auto got = a->endpoint->get({**key, 0}, {**local, 0, target.size()}, operations.next());
      if (!got) operations.all.pop_back();
    }
  }
  EXPECT_EQ(operations.open(), 0u);
  // Nothing completes outside of progress(), which was not called: so all of them were canceled, and none
  // succeeded.
  EXPECT_GT(operations.all.size(), 0u);
  EXPECT_EQ(operations.errors, std::vector<Errc>(operations.all.size(), Errc::canceled));
}

TEST_P(EndTest, a_peer_that_dies_with_its_object_ends_its_operations) {
  const auto a = open(), b = open(), c = open();
  ASSERT_TRUE(a && b && c);
  auto to_b = reach(*a, *b);
  const auto to_c = reach(*a, *c);
  const auto bytes = pattern(1000, 1);
  Operations &with_b = new_operations(), &with_c = new_operations();
  ASSERT_TRUE(send(*a, *to_b, 1, {{}, bytes}, with_b.next(), {}));
  ASSERT_TRUE(send(*a, *to_c, 1, {{}, bytes}, with_c.next(), {}));
  to_b.reset();
  EXPECT_EQ(with_b.open(), 0u);
  ASSERT_TRUE(
      until({a.get(), b.get(), c.get()}, [&] { return with_c.open() == 0 && c->received_count == 1; }));
  EXPECT_TRUE(with_c.errors.empty());
}

TEST_P(EndTest, a_peer_that_goes_ends_what_is_open_as_lost) {
  const auto a = open();
  auto b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(detects_loss, *a);
  auto source = pattern(4096, 1);
  std::vector<std::byte> target(4096);
  const auto local = a->endpoint->expose(target);
  ASSERT_TRUE(local);
  auto exposed = b->endpoint->expose(source);
  ASSERT_TRUE(exposed);
  const auto peer = reach(*a, *b);
  const auto key = a->endpoint->import_key(*peer, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  {
    Operations& first = new_operations();
    ASSERT_TRUE(get(*a, {**key, 0}, {**local, 0, 100}, first.next(), {a.get(), b.get()}));
    ASSERT_TRUE(until({a.get(), b.get()}, [&] { return first.ended == 1; }));
    ASSERT_TRUE(first.errors.empty());
  }
  exposed->reset();
  b.reset();
  Operations& later = new_operations();
  const auto got = a->endpoint->get({**key, 0}, {**local, 0, 100}, later.next());
  if (got) {
    ASSERT_TRUE(until({a.get()}, [&] { return later.ended == 1; }));
    ASSERT_EQ(later.errors.size(), 1u);
    EXPECT_EQ(later.errors[0], Errc::peer_lost);
  } else {
    EXPECT_EQ(got.error().code, Errc::peer_lost);
  }
  // An endpoint that takes its place is another peer, reached at its own address.
  const auto again = open();
  ASSERT_TRUE(again);
  const auto to_again = reach(*a, *again);
  Operations& sent = new_operations();
  ASSERT_TRUE(send(*a, *to_again, 1, {{}, {}}, sent.next(), {a.get(), again.get()}));
  ASSERT_TRUE(until({a.get(), again.get()}, [&] { return sent.ended == 1 && again->received_count == 1; }));
  EXPECT_TRUE(sent.errors.empty());
}

TEST_P(EndTest, a_region_that_is_gone_is_an_error_for_the_reader) {
  const auto a = open(), b = open(), c = open();
  ASSERT_TRUE(a && b && c);
  auto source = pattern(4096, 1);
  std::vector<std::byte> target(4096);
  const auto local = a->endpoint->expose(target);
  auto exposed = b->endpoint->expose(source);
  const auto kept = c->endpoint->expose(source);
  ASSERT_TRUE(local && exposed && kept);
  const auto to_b = reach(*a, *b), to_c = reach(*a, *c);
  const auto key = a->endpoint->import_key(*to_b, (*exposed)->packed_key());
  const auto kept_key = a->endpoint->import_key(*to_c, (*kept)->packed_key());
  ASSERT_TRUE(key && kept_key);
  exposed->reset();
  Operations gets;
  ASSERT_TRUE(get(*a, {**key, 0}, {**local, 0, 100}, gets.next(), {a.get(), b.get()}));
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return gets.ended == 1; }));
  // peer_lost too: it may have cost the two their connection.
  if (GetParam().checks_keys) {
    EXPECT_EQ(gets.errors.size(), 1u);
  }
  // No other endpoint notices.
  Operations right;
  ASSERT_TRUE(get(*a, {**kept_key, 0}, {**local, 0, 4096}, right.next(), {a.get(), c.get()}));
  ASSERT_TRUE(send(*a, *to_c, 1, {{}, {}}, right.next(), {a.get(), c.get()}));
  ASSERT_TRUE(until({a.get(), c.get()}, [&] { return right.ended == 2 && c->received_count == 1; }));
  EXPECT_TRUE(right.errors.empty());
  EXPECT_TRUE(target == source);
}

/// A region ends, and the first done() that this calls destroys the other peer: whose operation has ended by
/// then, too.
TEST_P(EndTest, a_done_that_destroys_another_peer) {
  const auto a = open(), b = open(), c = open();
  ASSERT_TRUE(a && b && c);
  auto source = pattern(4096, 1);
  std::vector<std::byte> target(4096);
  auto local = a->endpoint->expose(target);
  const auto in_b = b->endpoint->expose(source), in_c = c->endpoint->expose(source);
  ASSERT_TRUE(local && in_b && in_c);
  struct Side {
    std::unique_ptr<Peer> peer;
    std::unique_ptr<RemoteKey> key;
  } sides[2];
  sides[0].peer = reach(*a, *b);
  sides[1].peer = reach(*a, *c);
  struct One : Completion {
    One* other = nullptr;
    Side* others = nullptr;
    unsigned ends = 0;
    bool other_had_ended = false;
  } ones[2];
  for (int i = 0; i < 2; ++i) {
    auto key = a->endpoint->import_key(*sides[i].peer, (i == 0 ? *in_b : *in_c)->packed_key());
    ASSERT_TRUE(key);
    sides[i].key = std::move(*key);
    ones[i].other = &ones[1 - i];
    ones[i].others = &sides[1 - i];
    ones[i].done = [](Completion& self, Result<void>) noexcept {
      auto& one = static_cast<One&>(self);
      if (++one.ends > 1 || one.other->ends != 0) return;
      one.others->key.reset();
      one.others->peer.reset();
      one.other_had_ended = one.other->ends == 1;
    };
  }
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(get(*a, {*sides[i].key, 0}, {**local, 0, 100}, ones[i], {}));
  local->reset();
  EXPECT_EQ(ones[0].ends, 1u);
  EXPECT_EQ(ones[1].ends, 1u);
  EXPECT_TRUE(ones[0].other_had_ended || ones[1].other_had_ended);
  for (int i = 0; i < 1000; ++i) a->endpoint->progress();
  EXPECT_EQ(ones[0].ends + ones[1].ends, 2u);
}

/// done() opens the next operation in the memory of the one that ended.
TEST_P(EndTest, an_operation_starts_the_next) {
  struct Chain : Completion {
    Endpoint* endpoint;
    Peer* peer;
    int left = 1000;
    bool waits = false;
    void next() {
      waits = false;
      const auto sent = endpoint->send(*peer, 1, {{}, {}}, *this);
      if (!sent && sent.error().code == Errc::again) waits = true;
    }
  } chain;
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  const auto peer = reach(*a, *b);
  chain.endpoint = a->endpoint.get();
  chain.peer = peer.get();
  chain.done = [](Completion& self, Result<void> outcome) noexcept {
    auto& c = static_cast<Chain&>(self);
    if (outcome && --c.left > 0) c.next();
  };
  chain.next();
  ASSERT_TRUE(until({a.get(), b.get()}, [&] {
    if (chain.waits) chain.next();
    return chain.left == 0 && b->received_count == 1000;
  }));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += !entry.path().empty();
  return count;
}

/// In use on the heap; 0 where a sanitizer has its own, which looks for leaks itself.
std::size_t memory_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  return ::mallinfo2().uordblks;
#endif
}

TEST_P(EndTest, a_thousand_peers_come_and_go_and_leave_nothing) {
  const auto b = open();
  ASSERT_TRUE(b);
  b->keeps = false;
  std::size_t descriptors = 0, memory = 0;
  for (int round = 0; round < 100; ++round) {
    {
      const auto a = open();
      ASSERT_TRUE(a);
      Operations sent;
      std::vector<std::unique_ptr<Peer>> peers;
      for (int i = 0; i < 10; ++i) peers.push_back(reach(*a, *b));
      const auto before = b->received_count;
      for (const auto& peer : peers)
        ASSERT_TRUE(send(*a, *peer, 1, {{}, {}}, sent.next(), {a.get(), b.get()}));
      ASSERT_TRUE(
          until({a.get(), b.get()}, [&] { return sent.open() == 0 && b->received_count == before + 10; }));
      EXPECT_TRUE(sent.errors.empty());
    }
    // The first half fills caches.
    if (round != 49) continue;
    for (int i = 0; i < 1000; ++i) b->endpoint->progress();
    descriptors = open_descriptors();
    memory = memory_in_use();
  }
  // b notices by and by that the others are gone.
  EXPECT_TRUE(until({b.get()}, [&] { return open_descriptors() <= descriptors; }))
      << open_descriptors() << " descriptors, " << descriptors << " half-way";
  RecordProperty(
      "bytes_a_peer",
      static_cast<int>((static_cast<double>(memory_in_use()) - static_cast<double>(memory)) / 500));
  EXPECT_LE(memory_in_use(), memory + 500 * GetParam().bytes_a_peer) << memory << " half-way";
}

}  // namespace
}  // namespace weft::conformance
