// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "transport/tcp/listener.hpp"

namespace weft::tcp {
namespace {

SocketAddress at(const char* host, std::uint16_t port) {
  sockaddr_storage address{};
  if (auto& v4 = reinterpret_cast<sockaddr_in&>(address); ::inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    EXPECT_EQ(::inet_pton(AF_INET6, host, &v6.sin6_addr), 1) << host;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return SocketAddress::from(address).value_or(SocketAddress{});
}

TEST(SocketAddress, of_both_families_there_and_back) {
  for (const auto& [host, text] : {std::pair{"10.1.2.3", "10.1.2.3:4711"}, {"fd00::1", "[fd00::1]:4711"}}) {
    const auto address = at(host, 4711);
    EXPECT_EQ(address.text(), text);
    sockaddr_storage storage{};
    EXPECT_GT(address.to(storage), 0u);
    EXPECT_EQ(SocketAddress::from(storage), address);
  }
  EXPECT_TRUE(at("127.3.0.1", 1).is_loopback());
  EXPECT_TRUE(at("::1", 1).is_loopback());
  EXPECT_FALSE(at("10.0.0.1", 1).is_loopback());
  EXPECT_FALSE(at("fd00::1", 1).is_loopback());
}

TEST(SocketAddress, one_that_means_something_on_its_own_link_only) {
  EXPECT_EQ(at("fe80::1", 7), SocketAddress{});
}

TEST(PackedAddress, more_places_than_fit_are_refused) {
  PackedAddress address;
  for (std::size_t i = 0; i <= PackedAddress::most_places; ++i) {
    const auto packed = base::encode(address);
    EXPECT_LE(packed.size(), Address::max_bytes);
    EXPECT_TRUE(base::decode<PackedAddress>(packed));
    address.places.push_back(at("10.0.0.1", static_cast<std::uint16_t>(i + 1)));
  }
  EXPECT_FALSE(base::decode<PackedAddress>(base::encode(address)));
}

TEST(PackedAddress, a_place_without_a_port_is_refused) {
  PackedAddress address;
  address.places.push_back(at("10.0.0.1", 0));
  EXPECT_FALSE(base::decode<PackedAddress>(base::encode(address)));
}

TEST(Ports, what_is_accepted) {
  const auto range = Ports::parse("20000-20999");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 20000);
  EXPECT_EQ(range->last, 20999);
  EXPECT_EQ(Ports::parse("4711")->last, 4711);
  EXPECT_EQ(Ports::parse("")->first, 0);
  EXPECT_FALSE(Ports::parse("")->none);
  EXPECT_TRUE(Ports::parse("none")->none);
  for (const char* wrong : {"0", "65536", "a", "1-", "-1", "2-1", "1-2-3", " 1", "1,2", "none-1"})
    EXPECT_FALSE(Ports::parse(wrong)) << wrong;
}

TEST(Listener, takes_a_free_port_of_its_range_and_says_when_there_is_none) {
  const auto home = at("127.0.0.1", 0);
  const auto any = listen_on(home, {});
  ASSERT_TRUE(any);
  const auto taken = any->place.port;
  ASSERT_NE(taken, 0);
  const auto none = listen_on(home, {.first = taken, .last = taken});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sys, EADDRINUSE);
  const auto last = static_cast<std::uint16_t>(std::min(taken + 50, 65535));
  const auto other = listen_on(home, {.first = taken, .last = last});
  ASSERT_TRUE(other);
  EXPECT_GT(other->place.port, taken);
  EXPECT_LE(other->place.port, last);
}

TEST(Listening, on_the_networks_that_are_chosen_only) {
  std::string why_not;
  const auto loopback = transport::Networks::parse("127.0.0.0/8", why_not);
  const auto chosen = listening_addresses(&*loopback, {});
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0], at("127.0.0.1", 0));
  const auto nothing = transport::Networks::parse("203.0.113.0/24", why_not);
  EXPECT_TRUE(listening_addresses(&*nothing, {}).empty());
}

TEST(Listening, on_the_way_to_a_peer_and_else_not_on_the_loopback_where_there_is_another_network) {
  const auto toward = listening_addresses(nullptr, {at("127.0.0.1", 9)});
  ASSERT_EQ(toward.size(), 1u);
  EXPECT_EQ(toward[0], at("127.0.0.1", 0));
  const auto all = listening_addresses(nullptr, {});
  ASSERT_FALSE(all.empty());
  for (const auto& one : all) EXPECT_EQ(one.is_loopback(), all[0].is_loopback()) << one.text();
}

}  // namespace
}  // namespace weft::tcp
