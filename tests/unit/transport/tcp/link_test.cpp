// SPDX-License-Identifier: BSD-3-Clause
// How endpoints find to each other: from one side, from both at once, where one of them listens nowhere, and
// through a process between them that reads what passes.
#include <malloc.h>

#include <algorithm>
#include <random>

#include "tests/unit/transport/tcp/stations.hpp"

namespace weft::tcp {
namespace {

class CarriedTest : public ::testing::Test {
 protected:
  Station a, b;
  Carrier carrier{b.port()};
  std::unique_ptr<Peer> to_b;

  void SetUp() override { to_b = carrier.reach(b, a); }
  bool carried_until(const std::function<bool()>& done) {
    return until({&a, &b}, [&] {
      carrier.turn();
      return done();
    });
  }
};

TEST_F(CarriedTest, nothing_is_in_clear) {
  const std::string secret = "PGPASSWORD=hunter2";
  std::vector<std::byte> source(10'000), target(10'000);
  for (std::size_t i = 0; i + secret.size() < source.size(); i += secret.size())
    std::copy(as_bytes(secret).begin(), as_bytes(secret).end(),
              source.begin() + static_cast<std::ptrdiff_t>(i));
  const auto exposed = std::move(*b.endpoint->expose(source)), local = std::move(*a.endpoint->expose(target));
  const auto key = std::move(*a.endpoint->import_key(*to_b, exposed->packed_key()));
  Sent sent, got;
  ASSERT_TRUE(a.say(*to_b, secret, sent));
  ASSERT_TRUE(a.endpoint->get({*key, 0}, {*local, 0, target.size()}, got));
  ASSERT_TRUE(carried_until([&] { return sent.ended && got.ended && b.heard.size() == 1; }));
  EXPECT_EQ(b.heard[0], secret);
  EXPECT_EQ(source, target);
  EXPECT_GT(carrier.seen.size(), source.size());
  EXPECT_EQ(carrier.seen.find("hunter2"), std::string::npos);
}

TEST_F(CarriedTest, a_connection_that_is_cut_loses_the_peer) {
  Sent sent;
  ASSERT_TRUE(a.say(*to_b, "hello", sent));
  ASSERT_TRUE(carried_until([&] { return sent.ended && b.heard.size() == 1; }));
  carrier.is_cut = true;
  Sent later;
  ASSERT_TRUE(carried_until([&] {
    later = Sent();
    const auto said = a.say(*to_b, "still there?", later);
    if (said) return until({&a}, [&] { return later.ended; }) && later.failed;
    return said.error().code == Errc::peer_lost;
  }));
}

TEST(Links, both_connect_at_once) {
  for (int round = 0; round < 50; ++round) {
    Station a, b;
    const auto to_b = a.reach(b), to_a = b.reach(a);
    std::deque<Sent> sent;
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(a.say(*to_b, std::to_string(i), sent.emplace_back()));
      ASSERT_TRUE(b.say(*to_a, std::to_string(i), sent.emplace_back()));
    }
    ASSERT_TRUE(until({&a, &b}, [&] { return a.heard.size() == 5 && b.heard.size() == 5; })) << round;
    EXPECT_EQ(a.heard, b.heard);
    EXPECT_EQ(a.heard[4], "4");
  }
}

/// Each has its turns when it pleases it, so that what both do meets in every order.
TEST(Links, both_connect_with_turns_in_any_order) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Station a, b;
    std::unique_ptr<Peer> to_b, to_a;
    std::deque<Sent> sent;
    const auto has_failed = [](const Sent& one) { return one.failed; };
    const auto begin_both = [&] {
      if (!to_b && random() % 8 == 0) {
        to_b = a.reach(b);
        EXPECT_TRUE(a.say(*to_b, "from a", sent.emplace_back()));
      }
      if (!to_a && random() % 8 == 0) {
        to_a = b.reach(a);
        EXPECT_TRUE(b.say(*to_a, "from b", sent.emplace_back()));
      }
    };
    ASSERT_TRUE(until({}, [&] {
      begin_both();
      (random() % 2 == 0 ? a : b).endpoint->progress();
      return (a.heard.size() == 1 && b.heard.size() == 1) ||
             std::any_of(sent.begin(), sent.end(), has_failed);
    })) << round;
    ASSERT_TRUE(std::none_of(sent.begin(), sent.end(), has_failed)) << round;
    // And it stays: what was given up does not end what is used.
    ASSERT_TRUE(a.say(*to_b, "again", sent.emplace_back()) && b.say(*to_a, "again", sent.emplace_back()));
    ASSERT_TRUE(until({&a, &b}, [&] { return a.heard.size() == 2 && b.heard.size() == 2; })) << round;
    for (int i = 0; i < 20; ++i) a.endpoint->progress(), b.endpoint->progress();
    ASSERT_TRUE(a.say(*to_b, "and again", sent.emplace_back())) << round;
    ASSERT_TRUE(until({&a, &b}, [&] { return b.heard.size() == 3; })) << round;
  }
}

TEST(Links, one_that_listens_nowhere_is_heard_and_reached) {
  Station outside(false), listening;
  EXPECT_FALSE(outside.endpoint->capabilities().is_reachable);
  EXPECT_TRUE(listening.endpoint->capabilities().is_reachable);
  const auto waiting = listening.reach(outside);
  Sent first;
  ASSERT_TRUE(listening.say(*waiting, "are you there?", first));
  for (int i = 0; i < 1000; ++i) listening.endpoint->progress();
  EXPECT_FALSE(first.ended) << "no connection can be made from this side";
  const auto peer = outside.reach(listening);
  ASSERT_TRUE(until({&outside, &listening}, [&] { return first.ended && outside.heard.size() == 1; }));
  EXPECT_EQ(outside.heard[0], "are you there?");
  Sent second;
  ASSERT_TRUE(outside.say(*peer, "yes", second));
  ASSERT_TRUE(until({&outside, &listening}, [&] { return listening.heard.size() == 1; }));
}

TEST(Links, of_two_that_listen_nowhere_each_refuses_the_other) {
  Station one(false), other(false);
  for (auto* const from : {&one, &other}) {
    const auto& to = from == &one ? other : one;
    const auto reached = from->endpoint->reach(to.endpoint->address());
    ASSERT_FALSE(reached);
    EXPECT_EQ(reached.error().code, Errc::unreachable);
    EXPECT_NE(std::string(reached.error().what).find("WEFT_PORTS"), std::string::npos);
  }
}

TEST(Links, a_port_where_no_process_listens_is_a_lost_peer) {
  Station a;
  PackedAddress address;
  {
    const Station gone;
    address = gone.address();
  }
  const auto peer = std::move(*a.endpoint->reach(Address{base::encode(address)}));
  Sent sent;
  const auto said = a.say(*peer, "x", sent);
  if (said) {
    EXPECT_TRUE(until({&a}, [&] { return sent.ended; }));
    EXPECT_TRUE(sent.failed);
  } else {
    EXPECT_EQ(said.error().code, Errc::peer_lost);
  }
}

TEST(Links, the_next_place_is_tried) {
  Station a, b;
  auto address = b.address();
  const auto right = address.places[0];
  const auto nobodys = listen_on(loopback(), {})->place;  // closed again
  address.places = {nobodys, right};
  const auto peer = std::move(*a.endpoint->reach(Address{base::encode(address)}));
  Sent sent;
  ASSERT_TRUE(a.say(*peer, "found", sent));
  ASSERT_TRUE(until({&a, &b}, [&] { return b.heard.size() == 1; }));
}

TEST(Links, of_an_endpoint_with_openssls_records) {
  for (const auto& [one, other] : {std::pair{RecordsBy::openssl, RecordsBy::openssl},
                                   {RecordsBy::weft, RecordsBy::openssl},
                                   {RecordsBy::openssl, RecordsBy::weft}}) {
    Station a(true, 7, one), b(true, 7, other);
    EXPECT_EQ(a.endpoint->records_by(), one);
    const auto to_b = a.reach(b);
    std::vector<std::byte> source(1'000'000), target(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7);
    const auto exposed = std::move(*b.endpoint->expose(source)),
               local = std::move(*a.endpoint->expose(target));
    const auto key = std::move(*a.endpoint->import_key(*to_b, exposed->packed_key()));
    Sent sent, got, large;
    ASSERT_TRUE(a.say(*to_b, "first", sent));
    ASSERT_TRUE(a.endpoint->get({*key, 0}, {*local, 0, target.size()}, got));
    ASSERT_TRUE(a.say(*to_b, std::string(60'000, 'x'), large));
    ASSERT_TRUE(
        until({&a, &b}, [&] { return sent.ended && got.ended && large.ended && b.heard.size() == 2; }));
    EXPECT_EQ(b.heard[0], "first");
    EXPECT_EQ(b.heard[1], std::string(60'000, 'x'));
    EXPECT_EQ(source, target);
  }
}

/// A peer that has the key connects and says this. True: the endpoint has ended its connection.
bool is_hung_up_on(Station& at, Bytes said) {
  const auto context = std::move(*TlsContext::make(std::vector<std::byte>(32, std::byte{7})));
  TlsStream stream(*context, Introduction{.from = {std::byte{1}}, .to = at.address().id});
  const auto socket = stranger_at(at.port());
  stream.step();
  bool has_written = false;
  const bool is_over = until({&at}, [&] {
    throw_bytes(socket, stream.output());
    stream.sent(stream.output().size());
    std::byte bytes[4096];
    const auto count = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0) return true;
    if (count > 0) {
      stream.feed(Bytes(bytes, static_cast<std::size_t>(count)));
      stream.step();
    }
    if (stream.state() != TlsStream::State::open || std::exchange(has_written, true)) return false;
    EXPECT_TRUE(stream.write(said));
    return false;
  });
  return is_over && has_written;
}

/// A frame that no endpoint sends, of a peer that has the key.
TEST(Links, a_peer_that_breaks_the_protocol_is_lost) {
  Station b;
  for (const FrameHeader& wrong : {FrameHeader{.body_bytes = 0xffffffff},
                                   {.body_bytes = 10, .number = 11},
                                   {.body_bytes = 1, .kind = FrameKind::get},
                                   {.body_bytes = 0, .kind = static_cast<FrameKind>(9)},
                                   {.body_bytes = 0, .kind = FrameKind::welcome}})
    EXPECT_TRUE(is_hung_up_on(b, base::encode_fixed(wrong)));
  EXPECT_TRUE(b.heard.empty());
}

/// Short ones are copied, long ones opened where they belong.
TEST(Links, a_reply_counts_from_the_peer_that_was_asked_only) {
  for (const std::size_t bytes : {50, 10'000}) {
    Station a, b;
    const auto to_b = a.reach(b);
    std::vector<std::byte> source(bytes, std::byte{'b'}), target(bytes);
    const auto exposed = std::move(*b.endpoint->expose(source)),
               local = std::move(*a.endpoint->expose(target));
    const auto key = std::move(*a.endpoint->import_key(*to_b, exposed->packed_key()));
    Sent got;
    ASSERT_TRUE(a.endpoint->get({*key, 0}, {*local, 0, bytes}, got));
    constexpr std::uint64_t ticket = 0;  // an endpoint's first
    std::vector<std::byte> forged(frame_header_bytes + bytes, std::byte{'c'});
    base::write_fixed(forged.data(), FrameHeader{.body_bytes = static_cast<std::uint32_t>(bytes),
                                                 .kind = FrameKind::reply,
                                                 .number = ticket});
    EXPECT_TRUE(is_hung_up_on(a, forged));
    EXPECT_FALSE(got.ended);
    EXPECT_EQ(target, std::vector<std::byte>(bytes));
    ASSERT_TRUE(until({&a, &b}, [&] { return got.ended; }));
    EXPECT_FALSE(got.failed);
    EXPECT_EQ(target, source);
  }
}

TEST(Links, memory_of_an_idle_connected_peer) {
  Station a;
  std::deque<Station> others;
  constexpr std::size_t count = 50;
  std::vector<std::unique_ptr<Peer>> peers;
  const auto connect_one = [&] {
    auto& other = others.emplace_back();
    peers.push_back(a.reach(other));
    Sent sent;
    ASSERT_TRUE(a.say(*peers.back(), "hello", sent));
    ASSERT_TRUE(until({&a, &other}, [&] { return sent.ended && other.heard.size() == 1; }));
  };
  connect_one();
  // The memory that an endpoint takes by itself, without peers.
  const auto empty = ::mallinfo2().uordblks;
  std::deque<Station> alone(count);
  const auto of_endpoints = ::mallinfo2().uordblks - empty;
  const auto before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < count; ++i) connect_one();
  const auto both_sides = ::mallinfo2().uordblks - before - of_endpoints;
  std::printf("%zu bytes of heap for one side of an idle connection\n", both_sides / count / 2);
  RecordProperty("bytes", static_cast<int>(both_sides / count / 2));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(both_sides / count / 2, 24u << 10);  // beside the kernel's few KiB of the socket
#endif
}

}  // namespace
}  // namespace weft::tcp
