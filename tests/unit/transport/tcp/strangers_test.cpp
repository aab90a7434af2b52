// SPDX-License-Identifier: BSD-3-Clause
// Processes that reach the port and do not have the key, beside endpoints that have it.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>

#include <random>

#include "tests/unit/transport/tcp/stations.hpp"

namespace weft::tcp {
namespace {

/// Messages go through, there and back.
void expect_traffic(Station& a, Station& b) {
  const auto to_b = a.reach(b), to_a = b.reach(a);
  Sent first, second;
  const auto heard_a = a.heard.size(), heard_b = b.heard.size();
  ASSERT_TRUE(a.say(*to_b, "there", first));
  ASSERT_TRUE(b.say(*to_a, "back", second));
  EXPECT_TRUE(until({&a, &b}, [&] {
    return first.ended && second.ended && a.heard.size() > heard_a && b.heard.size() > heard_b;
  }));
  EXPECT_FALSE(first.failed || second.failed);
}

TEST(Strangers, a_thousand_that_say_nothing) {
  Station a, b;
  std::vector<Fd> silent;
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  const std::size_t count = std::min<std::size_t>(1000, most.rlim_cur / 2 - 100);
  for (std::size_t i = 0; i < count; ++i) {
    silent.push_back(stranger_at(a.port()));
    a.endpoint->progress();
    ASSERT_LE(a.endpoint->strangers(), Strangers::most);
  }
  EXPECT_GT(a.endpoint->strangers(), 0u);
  expect_traffic(a, b);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(until({&a, &b}, [&] { return a.endpoint->strangers() == 0; })) << "they have no time limit";
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10 * TcpEndpoint::handshake_time);
  for (const auto& one : silent) EXPECT_TRUE(is_closed(one));
  expect_traffic(a, b);
}

TEST(Strangers, that_come_together_are_let_in_by_few) {
  Station a, b;
  std::vector<Fd> silent;
  for (std::size_t i = 0; i < 3 * TcpEndpoint::most_accepts; ++i) silent.push_back(stranger_at(a.port()));
  std::size_t before = 0;
  EXPECT_TRUE(until({&a}, [&] {
    EXPECT_LE(a.endpoint->strangers(), before + TcpEndpoint::most_accepts) << "the rest is the next turn's";
    before = a.endpoint->strangers();
    return before == silent.size();
  }));
  expect_traffic(a, b);
}

TEST(Strangers, that_say_nothing_take_little_memory) {
  Station a;
  std::vector<Fd> silent;
  const auto turn_with = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) silent.push_back(stranger_at(a.port()));
    const auto all = std::min(silent.size(), Strangers::most);
    ASSERT_TRUE(until({&a}, [&] { return a.endpoint->strangers() == all; }));
  };
  turn_with(1);
  [[maybe_unused]] const auto before = ::mallinfo2().uordblks;
  turn_with(TcpEndpoint::most_accepts);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(::mallinfo2().uordblks - before, TcpEndpoint::most_accepts * 2048);
#endif
  for (int i = 0; i < 100; ++i) {
    turn_with(TcpEndpoint::most_accepts);
    a.endpoint->progress();
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(::mallinfo2().uordblks - before, Strangers::most * 2048) << "what has ended is freed";
#endif
}

TEST(Strangers, bytes_of_every_kind) {
  Station a, b;
  expect_traffic(a, b);
  std::mt19937 random(11);
  // The beginning of what a peer sends: a ClientHello, recorded.
  std::vector<std::byte> hello;
  {
    const auto context = std::move(*TlsContext::make(std::vector<std::byte>(32, std::byte{7})));
    TlsStream stream(*context, Introduction{.from = {}, .to = a.address().id});
    stream.step();
    hello.assign(stream.output().begin(), stream.output().end());
  }
  [[maybe_unused]] std::size_t memory = 0;  // sanitizers keep what was freed: not compared there
  for (int i = 0; i < 600; ++i) {
    std::vector<std::byte> bytes;
    switch (i % 4) {
      case 0:  // noise
        bytes.resize(1 + random() % 3000);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        break;
      case 1:  // a valid prefix
        bytes.assign(hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(random() % hello.size()));
        break;
      case 2:  // a damaged one
        bytes = hello;
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
        break;
      case 3:  // replayed as it was, then noise
        bytes = hello;
        for (int more = 0; more < 500; ++more) bytes.push_back(static_cast<std::byte>(random()));
        break;
    }
    const auto socket = stranger_at(a.port());
    throw_bytes(socket, bytes);
    for (int turn = 0; turn < 3; ++turn) a.endpoint->progress();
    EXPECT_LE(a.endpoint->strangers(), Strangers::most);
    if (i == 299) memory = ::mallinfo2().uordblks;
  }
  EXPECT_TRUE(until({&a, &b}, [&] { return a.endpoint->strangers() == 0; }));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(::mallinfo2().uordblks, memory + (64 << 10));
#endif
  EXPECT_EQ(a.heard.size(), 1u);
  expect_traffic(a, b);
}

TEST(Strangers, that_have_said_nothing_go_first) {
  Station a;
  std::vector<Fd> begun, silent;
  for (std::size_t i = 0; i < 10; ++i) {
    begun.push_back(stranger_at(a.port()));
    throw_bytes(begun.back(), as_bytes("\x16\x03"));
  }
  ASSERT_TRUE(until({&a}, [&] { return a.endpoint->strangers() == begun.size(); }));
  for (std::size_t i = 0; i < Strangers::most; ++i) silent.push_back(stranger_at(a.port()));
  ASSERT_TRUE(until({&a}, [&] {
    return std::count_if(silent.begin(), silent.end(), is_closed) >=
           static_cast<std::ptrdiff_t>(begun.size());
  }));
  // All that came first if this machine is not so slow that their time is over.
  EXPECT_TRUE(a.endpoint->strangers() < Strangers::most ||
              std::none_of(begun.begin(), begun.end(), is_closed));
}

/// Such connections are peers, or a recorder of what peers said: others that have begun to speak end none of
/// them, nor find less room.
TEST(Strangers, with_a_right_hello_stand_in_a_list_of_their_own) {
  const auto context = std::move(*TlsContext::make(std::vector<std::byte>(32, std::byte{7})));
  const auto began = std::chrono::steady_clock::now();
  Station a;
  std::vector<Fd> greeted, begun;
  const auto is_answered = [](const Fd& one) {
    char byte;
    return ::recv(one.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
  };
  for (unsigned i = 0; i < 10; ++i) {
    greeted.push_back(stranger_at(a.port()));
    TlsStream stream(*context, Introduction{.from = {static_cast<std::byte>(i)}, .to = a.address().id});
    stream.step();
    throw_bytes(greeted.back(), stream.output());
  }
  ASSERT_TRUE(until({&a}, [&] { return std::all_of(greeted.begin(), greeted.end(), is_answered); }));
  for (std::size_t i = 0; i < Strangers::most; ++i) {
    begun.push_back(stranger_at(a.port()));
    throw_bytes(begun.back(), as_bytes("\x16\x03"));
    a.endpoint->progress();
  }
  const auto some_are_closed = [&] {
    return std::any_of(begun.begin(), begun.end(), is_closed) ||
           std::any_of(greeted.begin(), greeted.end(), is_closed);
  };
  ASSERT_TRUE(until(
      {&a}, [&] { return a.endpoint->strangers() == greeted.size() + begun.size() || some_are_closed(); }));
  const bool was_slow = std::chrono::steady_clock::now() - began >= TcpEndpoint::handshake_time;
  EXPECT_TRUE(was_slow || !some_are_closed());
}

/// The side that connects has sent its proof, and the other drops the connection before it has seen it: with
/// 66 of others, which say nothing or have a right hello.
TEST(Strangers, between_the_two_ends_of_a_handshake) {
  const auto context = std::move(*TlsContext::make(std::vector<std::byte>(32, std::byte{7})));
  for (const bool have_hello : {false, true}) {
    SCOPED_TRACE(have_hello);
    const auto began = std::chrono::steady_clock::now();
    Station a, b;
    Carrier carrier(b.port());
    const auto to_b = carrier.reach(b, a);
    Sent sent;
    ASSERT_TRUE(a.say(*to_b, "hello", sent));
    carrier.holds_proof = true;
    ASSERT_TRUE(until({&a, &b}, [&] {
      carrier.turn();
      return carrier.holds_some();
    }));
    for (int i = 0; i < 20; ++i) a.endpoint->progress();
    EXPECT_FALSE(sent.ended) << "the other side does not know of this connection yet";
    std::vector<Fd> others;
    for (unsigned i = 0; i < Strangers::most + 2; ++i) {
      others.push_back(stranger_at(b.port()));
      if (!have_hello) continue;
      TlsStream stream(*context, Introduction{.from = {static_cast<std::byte>(i)}, .to = b.address().id});
      stream.step();
      throw_bytes(others.back(), stream.output());
    }
    ASSERT_TRUE(until({&b}, [&] { return is_closed(others[0]); }));
    if (have_hello) {
      ASSERT_TRUE(until({&b}, [&] { return is_closed(others[1]); }));
    }
    carrier.holds_proof = false;
    EXPECT_TRUE(until({&a, &b}, [&] {
      carrier.turn();
      return sent.ended && b.heard.size() == 1;
    }));
    EXPECT_FALSE(sent.failed);
    const bool was_slow = std::chrono::steady_clock::now() - began >= TcpEndpoint::handshake_time;
    if (!have_hello && !was_slow) {
      EXPECT_EQ(carrier.connections, 1u) << "its hello was right: those without one do not end it";
    }
  }
}

TEST(Strangers, an_endpoint_of_another_job) {
  Station a, other(true, 8);
  const auto to_a = other.reach(a);
  Sent sent;
  ASSERT_TRUE(other.say(*to_a, "let me in", sent));
  EXPECT_TRUE(until({&a, &other}, [&] { return sent.ended; }));
  EXPECT_TRUE(sent.failed);
  EXPECT_EQ(sent.code, Errc::peer_lost);
  EXPECT_TRUE(a.heard.empty());
}

TEST(Strangers, what_listens_at_a_peers_port_after_it_went) {
  Station a;
  PackedAddress address;
  {
    const Station gone;
    address = gone.address();
  }
  const auto impostor = listen_on(loopback(), {});
  ASSERT_TRUE(impostor);
  address.places = {impostor->place};
  const auto peer = std::move(*a.endpoint->reach(Address{base::encode(address)}));
  Sent sent;
  ASSERT_TRUE(a.say(*peer, "a secret", sent));
  std::string taken;
  Fd connection;
  std::mt19937 random(3);
  EXPECT_TRUE(until({&a}, [&] {
    if (!connection) {
      if (auto accepted = accept_from(impostor->socket)) connection = std::move(*accepted);
      return sent.ended;
    }
    char bytes[4096];
    const auto count = ::recv(connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0) {
      taken.append(bytes, static_cast<std::size_t>(count));
      std::vector<std::byte> noise(300);
      for (auto& byte : noise) byte = static_cast<std::byte>(random());
      throw_bytes(connection, noise);
    }
    return sent.ended;
  }));
  EXPECT_TRUE(sent.failed);
  EXPECT_EQ(taken.find("secret"), std::string::npos);
}

TEST(Strangers, use_up_no_descriptors) {
  Station a, b;
  expect_traffic(a, b);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<Fd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(stranger_at(a.port()));
  const Fd highest(::dup(a.endpoint->wait_fd().value()));
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(highest.get()) + 10;  // room for ten
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int i = 0; i < 1000; ++i) a.endpoint->progress();
  ::setrlimit(RLIMIT_NOFILE, &before);
  silent.clear();
  expect_traffic(a, b);
}

}  // namespace
}  // namespace weft::tcp
